import SensorCore
import Testing

@Suite struct StreamLedgerTests {
    private typealias Gap = StreamLedger.Gap

    @Test func whatGoesOutInOrderOwesNothing() {
        var ledger = StreamLedger()
        for number: UInt64 in [3, 4, 10] {
            #expect(ledger.gap(before: ledger.next) == nil)
            ledger.told(before: number)
            #expect(ledger.next == number && ledger.gap == nil && !ledger.isBehind)
        }
    }

    @Test func whatIsLostIsOwedAsOneGap() {
        var ledger = StreamLedger()
        ledger.told(before: 5)
        ledger.lost(before: 7)
        ledger.lost(before: 12)
        #expect(ledger.isBehind && ledger.gap == Gap(first: 5, count: 7))
        // What was left out besides, because nothing follows on from it, belongs to the same gap.
        #expect(ledger.gap(before: 13) == Gap(first: 5, count: 8))
        ledger.told(before: 13)
        #expect(!ledger.isBehind && ledger.gap == nil && ledger.next == 13)
    }

    @Test func aNumberLeftOutIsNoDebtUntilTheNextSample() {
        var ledger = StreamLedger()
        ledger.told(before: 5)
        #expect(!ledger.isBehind)
        #expect(ledger.gap(before: 6) == Gap(first: 5, count: 1))
    }

    @Test func theWordThatAllHasComeIsOwedOnce() {
        var ledger = StreamLedger()
        ledger.lost(before: 2)
        ledger.asked()
        ledger.asked()
        #expect(ledger.owesWord && ledger.isBehind)
        ledger.told(before: 2)
        #expect(ledger.isBehind)
        ledger.gaveWord()
        #expect(!ledger.isBehind && !ledger.owesWord)
    }

    @Test func numbersNeverFall() {
        var ledger = StreamLedger()
        ledger.told(before: 9)
        ledger.told(before: 4)
        ledger.lost(before: 3)
        #expect(ledger.next == 9 && ledger.gap == nil)
    }
}
