import Glibc
import Loop
import TestSupport

/// What the kernel says that a process has used: the files of `/proc/PID`.
enum ProcessAccount {
    /// What a process holds in memory, in KiB.
    struct Memory: Equatable, Sendable {
        /// All pages that are there, shared ones too.
        var resident: Double
        /// Shared pages in equal parts.
        var proportional: Double
        /// Pages that only this process has.
        var own: Double

        /// Reads `smaps_rollup`.
        init?(_ text: String) {
            guard let resident = field("Rss", in: text), let proportional = field("Pss", in: text),
                let clean = field("Private_Clean", in: text), let dirty = field("Private_Dirty", in: text)
            else { return nil }
            (self.resident, self.proportional, self.own) = (resident, proportional, clean + dirty)
        }
    }

    /// The time that all threads have run, in microseconds: nanoseconds in `schedstat`, where `stat` has ticks.
    static func cpuTime(of pid: Int32) throws(Failure) -> Double {
        var sum = 0.0
        for thread in try self.threads(of: pid) {
            sum += try self.read("task/\(thread)/schedstat", of: pid) { text in
                text.split(separator: " ").first.flatMap { Double($0) }.map { $0 / 1_000 }
            }
        }
        return sum
    }

    /// The threads of a process, by their numbers.
    private static func threads(of pid: Int32) throws(Failure) -> [Int32] {
        let path = "/proc/\(pid)/task"
        do throws(SystemError) {
            return try directoryNames(path).compactMap { Int32($0) }
        } catch {
            throw Failure("\(path) cannot be read: \(error)")
        }
    }

    static func memory(of pid: Int32) throws(Failure) -> Memory {
        try self.read("smaps_rollup", of: pid) { Memory($0) }
    }

    /// How often the process has stopped running because it waited: once for each time it was woken.
    static func waits(of pid: Int32) throws(Failure) -> Double {
        try self.read("status", of: pid) { field("voluntary_ctxt_switches", in: $0) }
    }

    private static func read<Value>(
        _ name: String, of pid: Int32, _ parse: (String) -> Value?
    ) throws(Failure) -> Value {
        let path = "/proc/\(pid)/\(name)"
        guard let value = parse(String(decoding: try contents(of: path), as: UTF8.self)) else {
            throw Failure("\(path) does not say what it should")
        }
        return value
    }

    /// The number of a line `NAME: NUMBER`.
    private static func field(_ name: String, in text: String) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            return line.dropFirst(name.count + 1).split { $0 == " " || $0 == "\t" }.first.flatMap { Double($0) }
        }
        return nil
    }
}

/// A small file, whole.
func contents(of path: String) throws(Failure) -> [UInt8] {
    do throws(SystemError) {
        return try InputFile.contents(of: path, atMost: .max)
    } catch {
        throw Failure("\(path): \(error)")
    }
}
