import Glibc
import Loop

/// What `jostle doctor` finds of the clocks that samples, tasks and the journal go by.
struct ClockExam: Equatable {
    /// Since 1970, in µs.
    var wallClock: Int64
    /// How far CLOCK_BOOTTIME is shifted for us, and so for nobody outside of our container, in s.
    var offset: Int64

    /// Jostle is younger than this: 2026-01-01, in µs.
    private static let earliest: Int64 = 1_767_225_600 * 1_000_000
    /// And will not be used as it is by then: 2056-01-01, in µs.
    private static let latest: Int64 = 2_713_910_400 * 1_000_000

    var remarks: [Remark] {
        var remarks: [Remark] = []
        if !(Self.earliest..<Self.latest).contains(self.wallClock) {
            let way = self.wallClock < Self.earliest ? "years behind" : "decades ahead"
            remarks.append(
                .wrong(
                    .clocks, "the wall clock is \(way): tasks are due, and the journal is dated, by it",
                    mend: [.run("timedatectl", "set-ntp", "true")]))
        }
        if self.offset != 0 {
            remarks.append(
                .wrong(
                    .clocks,
                    "the time since boot is shifted by \(self.offset) s in this container: samples from outside seem old or of the future",
                    look: [.run("cat", "/proc/self/timens_offsets")]))
        }
        return remarks.isEmpty ? [.good(.clocks, "the clocks are set")] : remarks
    }
}

extension ClockExam {
    init() {
        self.wallClock = Clock.wallClock()
        self.offset = Self.boottimeOffset(in: (try? contents(of: "/proc/self/timens_offsets")) ?? [])
    }

    /// Reads the line `boottime SECONDS NANOSECONDS`. A kernel without such namespaces has no file, and no offset.
    static func boottimeOffset(in file: [UInt8]) -> Int64 {
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 3, words[0] == "boottime" { return Int64(words[1]) ?? 0 }
        }
        return 0
    }
}
