import DaemonSupport
import Testing

@testable import jostle

/// The tables of all commands of `jostle`: what parser, help and completion rely on.
@Suite struct SyntaxTests {
    private struct Entry {
        let path: [String]
        let command: CommandSyntax
        /// Its own, and those of what stands above it.
        let options: [CommandOption]
    }

    private static func entries(
        _ command: CommandSyntax, below path: [String] = [], inherited: [CommandOption] = []
    ) -> [Entry] {
        let entry = Entry(path: path + [command.name], command: command, options: command.options + inherited)
        return [entry] + command.commands.flatMap { self.entries($0, below: entry.path, inherited: entry.options) }
    }

    private let entries = Self.entries(Main.syntax)

    @Test func aCommandDoesSomethingOrHasOthersBelowIt() {
        for entry in self.entries {
            #expect((entry.command.action == nil) == !entry.command.commands.isEmpty, "\(entry.path)")
        }
    }

    @Test func aNameStandsForOneThing() {
        for entry in self.entries {
            let options = entry.options.map(\.name) + ["help", "version"]
            #expect(Set(options).count == options.count, "\(entry.path): \(options)")
            let commands = entry.command.commands.map(\.name) + ["help"]
            #expect(Set(commands).count == commands.count, "\(entry.path): \(commands)")
        }
    }

    @Test func onlyTheLastArgumentIsAListOrMayBeMissing() {
        for entry in self.entries {
            for argument in entry.command.arguments.dropLast() {
                #expect(argument.presence == .required, "\(entry.path): \(argument.name)")
            }
        }
    }

    @Test func everythingIsExplained() {
        for entry in self.entries {
            let arguments = entry.command.arguments + (entry.command.trailing.map { [$0] } ?? [])
            let texts = [entry.command.summary] + entry.options.map(\.help) + arguments.map(\.help)
            #expect(texts.allSatisfy { !$0.isEmpty && !$0.contains("\n") }, "\(entry.path): \(texts)")
        }
    }
}
