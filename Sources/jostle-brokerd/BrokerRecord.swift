import Arbitration
import BrokerCore
import DaemonSupport
import Glibc
import Loop
import Motion
import PolicyFiles
import Scenarios

/// The files into which the broker writes what it was given and what it decided.
///
/// Nothing of it can hold the broker up for long: what is not written yet is bounded, and a file that cannot be written
/// is given up with one line in the log.
final class BrokerRecord {
    private var inputs: RecordFile?
    private var decisions: RecordFile?
    private let loop: EventLoop
    private let log: Log
    private var timer: EventLoop.TimerID?
    private var isWaiting = false
    /// Makes text of what happens, while somebody wants it.
    private var recording: Recording?

    /// So much is written at once.
    private static let enough = 32 * 1_024
    /// And what is less, after so long, in µs.
    private static let latest: Int64 = 500_000

    init(inputs: String?, decisions: String?, on loop: EventLoop, _ log: Log) throws(RecordFile.Problem) {
        self.inputs = try inputs.map { path throws(RecordFile.Problem) in try RecordFile(path) }
        self.decisions = try decisions.map { path throws(RecordFile.Problem) in try RecordFile(path) }
        self.loop = loop
        self.log = log
    }

    /// Begins to write down what the core is given and what it decides, if anybody wants it. Nobody has registered yet.
    ///
    /// - Parameters:
    ///   - files: What the policy in force was read from.
    ///   - now: From when all times count.
    func begin(_ core: inout Broker, _ files: [PolicyFile], at now: Timestamp) {
        guard self.inputs != nil || self.decisions != nil else { return }
        self.recording = Recording(
            inputs: self.inputs != nil, decisions: self.decisions != nil, files: files.map(\.recorded), at: now,
            epoch: core.arbiter.lastEpoch)
        core.keepSteps()
    }

    /// What the policy that is about to be in force was read from.
    func follow(_ files: [PolicyFile]) { self.recording?.files = files.map(\.recorded) }

    /// Takes in what happened since the last time.
    func write(_ steps: [ArbiterStep]) {
        for step in steps { self.recording?.add(step) }
        guard let (inputs, decisions) = self.recording?.take() else { return }
        self.inputs?.bytes += Array(inputs.utf8)
        self.decisions?.bytes += Array(decisions.utf8)
        if let failure = self.recording?.failure, let file = self.inputs {
            self.flush()
            self.log.error("\(file.path): nothing more is recorded: \(failure)")
            self.inputs = nil
        }
        let waiting = max(self.inputs?.bytes.count ?? 0, self.decisions?.bytes.count ?? 0)
        if waiting >= Self.enough { return self.flush() }
        guard waiting > 0, !self.isWaiting else { return }
        self.isWaiting = true
        self.loop.set(&self.timer, after: Self.latest) { [unowned self] in self.flush() }
    }

    /// Writes all there is.
    func flush() {
        self.isWaiting = false
        self.flush(&self.inputs)
        self.flush(&self.decisions)
    }

    private func flush(_ file: inout RecordFile?) {
        guard let open = file else { return }
        do throws(SystemError) {
            try open.flush()
        } catch {
            self.log.error("\(open.path): nothing more is recorded: \(error)")
            file = nil
        }
    }
}

/// A file of whole lines, whatever happens to the disk.
final class RecordFile {
    let path: String
    var bytes: [UInt8] = []
    private let descriptor: OwnedDescriptor
    private var length: off_t = 0

    struct Problem: Swift.Error, CustomStringConvertible {
        var description: String
    }

    /// Makes the file, or begins it anew. Motion is nobody else's business.
    ///
    /// The corresponding C function is `open`.
    init(_ path: String) throws(Problem) {
        self.path = path
        do throws(SystemError) {
            self.descriptor = try OwnedDescriptor(
                opening: path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, mode: 0o600)
        } catch {
            throw Problem(description: "cannot record into \(path): \(error)")
        }
    }

    /// Writes what waits, all or nothing. The corresponding C function is `write`.
    func flush() throws(SystemError) {
        var rest = self.bytes[...]
        do throws(SystemError) {
            while !rest.isEmpty {
                let raw = self.descriptor.raw
                let count = try systemCall("write") {
                    // SAFETY: the kernel reads at most `$0.count` bytes at its base.
                    unsafe rest.withUnsafeBytes { unsafe write(raw, $0.baseAddress, $0.count) }
                }
                rest = rest.dropFirst(count)
            }
        } catch {
            // What was written of it ends within a line; a pipe keeps it.
            _ = ftruncate(self.descriptor.raw, self.length)
            throw error
        }
        self.length += off_t(self.bytes.count)
        self.bytes.removeAll(keepingCapacity: true)
    }
}
