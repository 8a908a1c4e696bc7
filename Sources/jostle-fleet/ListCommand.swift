import DaemonSupport
import FleetCore
import Motion

/// `list`: which devices there are, and what is in force on each.
enum ListCommand {
    static let group = CommandOption.value("group", "NAME", "only the devices of this group")

    static let syntax = CommandSyntax(
        "list", "show the devices, and what from outside is in force on each",
        options: [group, ServerOption.json], exits: ServerOption.exits
    ) { arguments in
        let session = try FleetSession(arguments)
        try session.look()
        let wanted = arguments.value(of: group)
        let devices = session.book.devices.filter { wanted.map($0.value.groups.contains) ?? true }
            .sorted { $0.key < $1.key }
        if arguments.has(ServerOption.json) {
            for (name, device) in devices { try say(JSONCoding.text(device.json(name))) }
            return
        }
        var table = Columns(["DEVICE", "THERE", "IN FORCE", "LAST", "GROUPS", "DETECTORS"])
        for (name, device) in devices {
            table.add([
                name, device.isOnline ? "yes" : "no",
                device.report.flatMap { $0.inForce > 0 ? "\($0.inForce)" : nil } ?? "-",
                cell(device.report.flatMap { $0.outcome == .none ? nil : $0.line } ?? "-"),
                cell(device.groups.joined(separator: " ")), cell(device.detectors.joined(separator: " ")),
            ])
        }
        if devices.isEmpty {
            return try say("no device\(wanted.map { " of group \(printable($0))" } ?? "") is known to the server")
        }
        for line in table.lines { try say(line) }
    }

    /// What a device says of itself may be as long as a message, and each line of a table is as wide as the longest.
    private static func cell(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: Self.widest, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return text }
        return "\(text[..<end])…"
    }

    private static let widest = 200
}

extension DesiredReport {
    /// What became of the last that was wanted.
    var line: String {
        let what = "\(self.outcome.rawValue) \(self.version)"
        return self.problem.map { "\(what): \($0)" } ?? what
    }
}

extension DeviceBook.Device {
    func json(_ name: String) -> DataValue {
        func list(_ texts: [String]) -> DataValue { .list(texts.map { .text($0) }) }
        return .fields([
            "device": .text(name), "online": .bool(self.isOnline), "groups": list(self.groups),
            "detectors": list(self.detectors), "requests": list(self.requests), "desired": list(self.desired),
            "apps": .count(self.apps.count), "hits": .count(self.hits), "denied": .count(self.denied),
            "reported": self.report?.value ?? .null,
        ])
    }
}
