import DaemonSupport
import Detection
import Motion

/// `jostle presets`: the presets, or one of them with its options.
///
/// Works without a broker: they are part of the program.
struct PresetsCommand {
    static let syntax = CommandSyntax(
        "presets", "show the presets, or one of them with its options", reaching: .nobody, options: [CommonOption.json],
        arguments: [CommandArgument("NAME", "the preset to show", .optional, naming: .preset)],
        action: {
            try PresetsCommand(name: $0.arguments.positionals.first, isJSON: $0.isJSON, terminal: $0.terminal).run()
        })

    let name: String?
    let isJSON: Bool
    let terminal: Terminal

    private func run() throws(CommandFailure) {
        guard let name = self.name else {
            if self.isJSON {
                PresetCatalogue.all.forEach { self.terminal.print($0.json) }
                return
            }
            var table = Columns(["PRESET", "SENSOR", "WHAT IT HEARS"])
            for preset in PresetCatalogue.all { table.add([preset.name, preset.sensor, preset.summary]) }
            table.lines(self.terminal).forEach { self.terminal.print($0) }
            return
        }
        guard let preset = PresetCatalogue.named(name) else {
            let near = Suggestion.nearest(to: name, among: PresetCatalogue.all.map(\.name))
            throw CommandFailure.usage(
                "there is no preset '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        if self.isJSON {
            self.terminal.print(preset.json)
        } else {
            preset.page(self.terminal).forEach { self.terminal.print($0) }
        }
    }
}
