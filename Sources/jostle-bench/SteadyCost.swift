import Loop
import TestSupport

/// What processes use while samples flow at a steady rate: of each in the order of its pid.
struct SteadyCost {
    /// Processor time in ms a second.
    var cpu: [Double]
    /// How often it was woken in a second.
    var wakes: [Double]

    /// Looks on for some seconds. Fails when the broker gets the samples at another rate, or when the reader ends.
    init(of pids: [Int32], at rate: Double, on stage: Stage, _ reader: BackgroundProgram, seconds: Double)
        throws(Failure)
    {
        let before = try Self(of: pids)
        let sent = try stage.samplesSent()
        let began = Clock.monotonic.now()
        pass(seconds: seconds)
        let after = try Self(of: pids)
        let elapsed = Double(Clock.monotonic.now() - began) / 1_000_000
        let got = Double(try stage.samplesSent() - sent) / elapsed
        guard abs(got - rate) < rate / 10, reader.end == nil else {
            throw Failure("the broker got \(got) samples a second, not \(rate)")
        }
        self.cpu = zip(after.cpu, before.cpu).map { ($0 - $1) / 1_000 / elapsed }
        self.wakes = zip(after.wakes, before.wakes).map { ($0 - $1) / elapsed }
    }

    /// What they have used so far.
    private init(of pids: [Int32]) throws(Failure) {
        (self.cpu, self.wakes) = ([], [])
        for pid in pids {
            self.cpu.append(try ProcessAccount.cpuTime(of: pid))
            self.wakes.append(try ProcessAccount.waits(of: pid))
        }
    }
}
