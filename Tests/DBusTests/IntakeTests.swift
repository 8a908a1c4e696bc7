import Testing

@testable import DBus

/// Whether a bus may have left something out.
@Suite struct IntakeTests {
    private var intake = Intake()
    private static let second: Int64 = 1_000_000

    /// As much comes as libdbus reads in so many gulps, of more than that.
    private mutating func take(_ bytes: Int, at time: Int64) -> [Int] {
        (0..<bytes / 4_096).filter { _ in self.intake.took(of: 200_000, at: time) }
    }

    @Test mutating func muchInAShortTimeIsDoubted() {
        let most = Intake.most / 4_096
        #expect(self.take(Intake.most - 4_096, at: 0) == [] && !self.intake.isInDoubt)
        #expect(self.take(4_096, at: 0) == [0] && self.intake.isInDoubt)
        // Once is enough until it is asked.
        #expect(self.take(10 * Intake.most, at: Intake.window) == [])
        // What came long before is no part of it.
        self.intake = Intake()
        #expect(self.take(Intake.most / 2, at: Intake.window) == [])
        #expect(self.take(Intake.most, at: 10 * Intake.window) == [most - 1])
        // What came a second before is, but for a tenth.
        self.intake = Intake()
        #expect(self.take(Intake.most / 2, at: Intake.window) == [])
        #expect(self.take(Intake.most, at: Intake.window + Intake.window / 10).first.map { $0 < most * 2 / 3 } == true)
    }

    @Test mutating func muchInALongTimeIsNot() {
        for second in 1..<100 as Range<Int64> { #expect(self.take(3 << 20, at: second * 1_000_000) == []) }
        // What is small counts as what it is.
        var intake = Intake()
        let first = (1...100_000).first { _ in intake.took(of: 500, at: 0) }
        #expect(first.map { Intake.most / 500..<Intake.most / 500 + 3_000 ~= $0 } == true)
    }

    @Test mutating func whileItGoesOnItIsAskedAgain() {
        #expect(self.take(Intake.most, at: 0) == [Intake.most / 4_096 - 1])
        #expect(self.take(Intake.most, at: 1) == [])
        #expect(!self.intake.ask() && self.intake.isInDoubt)
        #expect(self.take(Intake.most - 4_096, at: 1) == [])
        // That was less.
        #expect(self.intake.ask() && !self.intake.isInDoubt)
        #expect(self.take(2 * Intake.most, at: Intake.pause).first.map { $0 < Intake.most / 2_048 } == true)
    }

    /// A bus keeps few of those, however small the messages are that bring them.
    @Test mutating func descriptorsThatNobodyAskedForAreDoubted() {
        #expect(self.intake.tookDescriptors() && self.intake.isInDoubt)
        #expect(self.intake.ask() && !self.intake.isInDoubt)
        // Those that come before it is asked may come after what was left out: it is asked once more.
        let begins = [self.intake.tookDescriptors(), self.intake.tookDescriptors()]
        #expect(begins == [true, false])
        #expect(!self.intake.ask() && self.intake.isInDoubt)
        #expect(self.intake.ask() && !self.intake.isInDoubt)
    }
}
