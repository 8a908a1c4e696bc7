import BrokerCore
import DBus
import Motion
import Protocol

extension SeenWindow {
    /// A row of `SetWindows`: an app id, empty where it is not known, and what is to be said of its best window.
    init(_ row: Structure<String, [String: Value]>) throws(BusError) {
        let (name, details) = row.fields
        guard name.isEmpty || AppID.isValid(name) else { throw .badAppID(name) }
        let reader = try OptionReader(
            details, of: "a window", known: [FocusKey.state, FocusKey.window, FocusKey.process])
        guard let word = try reader.text(FocusKey.state) else {
            throw .invalidConfiguration("a window: '\(FocusKey.state)' (s) is missing")
        }
        let state = try GivenWord.read(word, "state of a window", among: State.allCases, name: \.rawValue)
        let process = try reader.count(FocusKey.process).map { number throws(BusError) in
            guard let process = UInt32(exactly: number) else {
                throw .invalidConfiguration("a window: \(FocusKey.process) \(number) is no process")
            }
            return process
        }
        self.init(
            name.isEmpty ? nil : AppID(name), state, id: try reader.text(FocusKey.window) ?? "", process: process)
    }
}

extension BusError {
    static func badAppID(_ name: String) -> BusError {
        .invalidConfiguration("'\(printable(name))' is no app id: give a well-known bus name, or nothing")
    }
}

extension FocusSources.Row {
    /// The source as `FocusSources` shows it.
    var options: [String: Value] {
        func apps(_ apps: [AppID]) -> Value { .array(of: "s", apps.map { .string($0.name) }) }
        var options: [String: Value] = [
            FocusKey.source: .string(self.source),
            FocusKey.front: apps(self.front),
            FocusKey.first: apps(self.first),
            FocusKey.visible: apps(self.visible),
            FocusKey.hidden: apps(self.hidden),
            FocusKey.playing: apps(self.playing),
            FocusKey.frozen: apps(self.frozen),
            FocusKey.windows: .uint32(UInt32(clamping: self.windows)),
            FocusKey.leaving: .boolean(self.isLeaving),
        ]
        if let process { options[FocusKey.reporter] = .uint32(process) }
        return options
    }
}
