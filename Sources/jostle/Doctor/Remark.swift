/// One thing that `jostle doctor` looked at: how it is, and what mends it.
struct Remark: Equatable {
    enum State: String {
        /// As it should be.
        case good
        /// Nothing is broken, and somebody may wonder.
        case note
        case wrong
    }

    enum Area: String {
        case bus, broker, reader, units, devices, rights, policy, apps, sensors, foreground, storage, clocks
    }

    let area: Area
    let state: State
    /// One sentence, without the stop.
    let text: String
    /// Commands after which it is no longer so.
    let mend: [TypedCommand]
    /// Commands that change nothing, and show more of it.
    let look: [TypedCommand]

    static func good(_ area: Area, _ text: String) -> Remark {
        Remark(area: area, state: .good, text: text, mend: [], look: [])
    }

    static func note(
        _ area: Area, _ text: String, mend: [TypedCommand] = [], look: [TypedCommand] = []
    ) -> Remark { Remark(area: area, state: .note, text: text, mend: mend, look: look) }

    static func wrong(
        _ area: Area, _ text: String, mend: [TypedCommand] = [], look: [TypedCommand] = []
    ) -> Remark { Remark(area: area, state: .wrong, text: text, mend: mend, look: look) }

    /// What stands for people: the sentence first, so that it can be read aloud, and the commands below it.
    func lines(_ terminal: Terminal, on buses: TypedCommand.Buses) -> [String] {
        let style: Terminal.Style =
            switch self.state {
            case .good: .green
            case .note: .yellow
            case .wrong: .red
            }
        let first = "\(terminal.styled("\(self.state.rawValue):", style)) \(self.area.rawValue): \(self.text)"
        return [first] + self.mend.map { "    \($0.line(on: buses))" }
            + self.look.map { "    look: \($0.line(on: buses))" }
    }

    func json(on buses: TypedCommand.Buses) -> String {
        var line = JSONLine()
        line.add("area", self.area.rawValue)
        line.add("state", self.state.rawValue)
        line.add("text", self.text)
        line.add("mend", self.mend.map { $0.line(on: buses) })
        line.add("look", self.look.map { $0.line(on: buses) })
        return line.text
    }
}
