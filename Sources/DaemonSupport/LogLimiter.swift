/// Which messages are written when one place in the code says too much.
///
/// A value that is told the time. Each place may write `burst` messages per `interval`; what is beyond is counted and
/// summed up afterwards. Places are lines of our own code, so that no peer can make the table grow.
struct LogLimiter {
    /// A place that logs.
    struct Site: Hashable {
        var file: String
        var line: Int
    }

    /// What an interval had too much of.
    struct Excess: Equatable {
        var level: LogLevel
        /// The last message that was written.
        var like: String
        var count: Int
    }

    private struct Window {
        var start: Int64
        var written: Int
        var excess: Excess
    }

    let burst: Int
    /// In microseconds.
    let interval: Int64
    private var windows: [Site: Window] = [:]

    init(burst: Int, interval: Int64) {
        self.burst = burst
        self.interval = interval
    }

    /// Whether a place may write now. If not, the message counts as excess.
    mutating func admits(_ site: Site, at now: Int64) -> Bool {
        guard var window = self.windows[site], now - window.start < self.interval else { return true }
        guard window.written >= self.burst else { return true }
        window.excess.count += 1
        self.windows[site] = window
        return false
    }

    /// Notes what a place has written, and answers what its last interval had too much of, if that is over.
    mutating func note(_ message: String, _ level: LogLevel, by site: Site, at now: Int64) -> Excess? {
        if var window = self.windows[site], now - window.start < self.interval {
            window.written += 1
            window.excess.like = message
            self.windows[site] = window
            return nil
        }
        let new = Window(start: now, written: 1, excess: Excess(level: level, like: message, count: 0))
        let old = self.windows.updateValue(new, forKey: site)
        guard let excess = old?.excess, excess.count > 0 else { return nil }
        return excess
    }

    /// When the next interval with excess is over.
    var nextDeadline: Int64? {
        self.windows.values.lazy.filter { $0.excess.count > 0 }.map { $0.start + self.interval }.min()
    }

    /// Takes out the intervals that are over (`nil`: all), and answers what they had too much of, oldest first.
    mutating func takeExcess(at now: Int64?) -> [Excess] {
        let over = self.windows.filter { window in now.map { $0 - window.value.start >= self.interval } ?? true }
        for site in over.keys { self.windows[site] = nil }
        return over.values.filter { $0.excess.count > 0 }.sorted { $0.start < $1.start }.map(\.excess)
    }
}
