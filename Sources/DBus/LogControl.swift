/// `org.freedesktop.LogControl1`: reads and sets a running program's log level and target.
///
/// The object stands at `/org/freedesktop/LogControl1`. Nothing here logs: the closures are the program's.
/// Not `Sendable`: it belongs to the thread of its connection's loop.
package final class LogControl {
    /// The levels that syslog knows, the gravest first.
    package static let levels = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]
    package static var path: ObjectPath { ObjectPath(literal: "/org/freedesktop/LogControl1") }

    /// A setting that is one of several words.
    package struct Setting {
        fileprivate let allowed: [String]
        fileprivate let get: () -> String
        fileprivate let set: (String) -> Void

        /// - Parameter set: called with one of the allowed words only.
        package init(allowed: [String], get: @escaping () -> String, set: @escaping (String) -> Void) {
            self.allowed = allowed
            self.get = get
            self.set = set
        }
    }

    private let identifier: String
    private let level: Setting
    private let target: Setting

    /// - Parameters:
    ///   - identifier: what the program's messages are known by in the system's log.
    ///   - target: among the words of the interface, such as `console` and `journal`, those that the program can do.
    package init(
        identifier: String, target: Setting, level: @escaping () -> String, setLevel: @escaping (String) -> Void
    ) {
        self.identifier = identifier
        self.level = Setting(allowed: Self.levels, get: level, set: setLevel)
        self.target = target
    }

    /// The object to export. Nobody in a sandbox, and no other user but root, has us silent, or fills our user's log: rules
    /// that others bring for a bus may let through what ours do not.
    package func exportedObject() -> ExportedObject {
        ExportedObject(
            Self.path, [(Self.table(), self)],
            guardian: { call, answer in
                let isChange = call.message.member == "Set"
                call.connection.identity(of: call.sender) { identity in
                    do throws(BusError) {
                        let caller = try identity.get()
                        guard caller.sandbox == nil else {
                            throw .accessDenied("what is logged is nothing for who is in a sandbox")
                        }
                        guard caller.isTrusted || !isChange else {
                            throw .accessDenied("what is logged is for the daemon's own user and root to say")
                        }
                        answer(nil)
                    } catch {
                        answer(error)
                    }
                }
            })
    }

    private static func change(_ name: String, _ setting: Setting, to word: String) throws(BusError) {
        guard setting.allowed.contains(word) else {
            let words = setting.allowed.joined(separator: ", ")
            throw .invalidArguments("\(name) cannot be '\(shortened(word))', only one of \(words)")
        }
        setting.set(word)
    }

    private static func table() -> Interface<LogControl> {
        Interface(
            "org.freedesktop.LogControl1",
            properties: [
                Property(
                    "LogLevel", .never, get: { (control: LogControl) in control.level.get() },
                    set: { (control, _, word: String) throws(BusError) in
                        try Self.change("LogLevel", control.level, to: word)
                    }),
                Property(
                    "LogTarget", .never, get: { (control: LogControl) in control.target.get() },
                    set: { (control, _, word: String) throws(BusError) in
                        try Self.change("LogTarget", control.target, to: word)
                    }),
                Property("SyslogIdentifier", .constant, get: { (control: LogControl) in control.identifier }),
            ])
    }
}
