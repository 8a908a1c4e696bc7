import DBus
import DaemonSupport
import JostleClient
import Loop
import Motion

/// `jostle top`: who gets how many events, live: on a terminal as a table that keys sort and filter, else as text or JSON.
struct TopCommand {
    private static let once = CommandOption.flag("once", "one table of what happens from now on, and no picture")
    private static let every = TypedOption.time(
        "every", "TIME", "how long a table counts (default: 1s)", expected: "a time from 200ms to 1h, such as 2s",
        in: .milliseconds(200)...TimeSpan.seconds(3_600))
    private static let sort = TypedOption.word(
        "sort", "COLUMN", "the column to sort by (default: hits)", oneOf: TopColumn.allCases.map(\.rawValue),
        expected: TopColumn.allCases.map(\.rawValue).joined(separator: ", "))
    private static let filter = CommandOption.value("filter", "TEXT", "only apps in whose name or state this stands")

    static let syntax = CommandSyntax(
        "top", "show live who is hit, who gets events and who is refused, and how the sensors run", reaching: .broker,
        options: [every, sort, filter, once, CommonOption.length, CommonOption.json],
        action: {
            let arguments = $0.arguments
            if arguments.has(once), arguments.has(CommonOption.length) {
                throw UsageProblem("top: --for has no effect beside --once")
            }
            let column = try arguments.value(of: sort).flatMap(TopColumn.init(rawValue:))
            try TopCommand(
                view: TopView(sortedBy: column ?? .hits, filter: arguments.value(of: filter) ?? ""),
                every: try arguments.value(of: every) ?? .seconds(1), isOnce: arguments.has(once),
                length: try arguments.value(of: CommonOption.length), isJSON: $0.isJSON, bus: $0.bus,
                terminal: $0.terminal, loop: $0.loop
            ).run()
        })

    let view: TopView
    let every: TimeSpan
    let isOnce: Bool
    let length: TimeSpan?
    let isJSON: Bool
    let bus: BusAddress
    let terminal: Terminal
    let loop: EventLoop

    private func run() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop)
        let isDrawn = self.terminal.isInteractive && !self.terminal.isDumb && !self.isOnce && !self.isJSON
        let screen = isDrawn ? TerminalScreen(self.terminal, self.loop) : nil
        var view = self.view
        var failure: CommandFailure?
        var isDone = false
        var last: TopSnapshot?
        let feed = TopFeed(service) { result in
            switch result {
            case .failure(let error):
                // A picture stays while the broker is away; a script wants to know.
                if screen == nil || last == nil {
                    failure = error
                    isDone = true
                }
                view.trouble = error.message
            case .success(let snapshot):
                view.take(TopTable(snapshot, since: last))
                defer { last = snapshot }
                guard screen == nil, let earlier = last else { break }
                if !self.tell(TopTable(snapshot, since: earlier), view.rows) || self.isOnce { isDone = true }
            }
            screen?.redraw()
        }
        service.connection.onLost = {
            failure = CommandFailure(.noService, "the bus went away")
            isDone = true
        }
        screen?.onEnd = { isDone = true }
        screen?.picture = {
            view.size = Terminal.size
            return view.lines(self.terminal)
        }
        screen?.onKey = { [weak screen] key in
            switch view.press(key) {
            case .quit: isDone = true
            case .explain(let app):
                feed.explain(app) { lines in
                    view.explain(app, lines)
                    screen?.redraw()
                }
            case nil: break
            }
            screen?.redraw()
        }
        stopOnSignals(self.loop) { isDone = true }
        if let length { self.loop.once(after: length.microseconds) { isDone = true } }
        screen?.open()
        defer { screen?.close() }
        self.tick(feed, at: Clock.monotonic.now())
        try self.loop.wait { isDone }
        if let failure { throw failure }
    }

    /// Asks now and then again, at times that do not drift.
    private func tick(_ feed: TopFeed, at time: Int64) {
        feed.begin()
        let next = max(time + self.every.microseconds, Clock.monotonic.now())
        self.loop.once(at: next) { self.tick(feed, at: next) }
    }

    /// Writes a table where nothing is drawn.
    ///
    /// - Returns: false when nobody reads any more.
    private func tell(_ table: TopTable, _ rows: [TopTable.Row]) -> Bool {
        if self.isJSON { return self.terminal.print(table.json(of: rows)) }
        let columns: [TopColumn] = [.app, .state, .hits, .events, .refused, .queue, .launches, .dropped, .reason]
        var text = Columns(columns.map(\.title), right: Set(columns.indices.filter { columns[$0].isNumber }))
        for row in rows { text.add(columns.map { $0.cell(of: row, isMeasured: true) }) }
        let lines = [table.totalText, table.sensorText] + table.notices + [""] + text.lines(self.terminal)
        let isHeard = lines.reduce(true) { self.terminal.print($1) && $0 }
        return self.isOnce ? isHeard : self.terminal.print() && isHeard
    }
}
