import SensorCore
import Testing

@Suite struct StreamLedgerTests {
    private typealias Gap = StreamLedger.Gap

    @Test func whatGoesOutInOrderOwesNothing() {
        var ledger = StreamLedger()
        for number: UInt64 in [3, 4, 10] {
            #expect(ledger.gap(before: ledger.next) == nil)
            ledger.told(before: number)
            #expect(ledger.next == number && ledger.gap(before: number) == nil)
        }
    }

    @Test func whatDoesNotComeIsOneGap() {
        var ledger = StreamLedger()
        ledger.told(before: 5)
        // What was left out because nothing follows on from it, and what gave way behind it, belong together.
        #expect(ledger.gap(before: 13) == Gap(first: 5, count: 8))
        ledger.told(before: 13)
        #expect(ledger.gap(before: 13) == nil && ledger.next == 13)
    }

    @Test func theWordThatAllHasComeIsOwedOnce() {
        var ledger = StreamLedger()
        ledger.asked()
        ledger.asked()
        #expect(ledger.owesWord)
        ledger.gaveWord()
        #expect(!ledger.owesWord)
    }

    @Test func numbersNeverFall() {
        var ledger = StreamLedger()
        ledger.told(before: 9)
        ledger.told(before: 4)
        #expect(ledger.next == 9 && ledger.gap(before: 9) == nil)
    }
}
