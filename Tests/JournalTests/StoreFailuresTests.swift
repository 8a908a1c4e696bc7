@testable import Journal
import Motion
import Testing

/// Which failure is told, and when a file is opened anew.
@Suite struct StoreFailuresTests {
    private func error(_ code: StoreError.Code, _ text: String = "") -> StoreError { StoreError(code, text) }

    @Test func aDiskThatFailsIsTriedAgainAfterThePause() {
        var failures = StoreFailures(pause: TimeSpan(microseconds: 100))
        failures.journalFailed(self.error(.unavailable), at: 1_000)
        #expect(failures.isAny && failures.retryAt == 1_100)
        #expect(!failures.isTimeToReopen(at: 1_099) && failures.isTimeToReopen(at: 1_100))
        // That it could not be set aside leaves the time as it was.
        failures.journalStays(self.error(.full))
        #expect(failures.retryAt == 1_100 && failures.journal?.code == .full)
        failures.journalWorks()
        #expect(!failures.isAny)
    }

    @Test func aFileThatIsGoneIsOpenedAnewAtOnceButNotAgainAndAgain() {
        var failures = StoreFailures(pause: TimeSpan(microseconds: 100))
        let times = [Int64(1_000), 1_010, 1_300].map { time in
            failures.stateFailed(self.error(.lost), at: time)
            return failures.retryAt
        }
        #expect(times == [1_000, 1_100, 1_300])
    }

    /// What is due since long ago has the thread wake up all the time, if it cannot be done.
    @Test func whileSomethingFailsTheNextTryIsNext() {
        var failures = StoreFailures(pause: TimeSpan(microseconds: 100))
        #expect(failures.next([nil, 7, 5]) == 5 && failures.next([nil]) == nil)
        failures.stateFailed(self.error(.unavailable), at: 1_000)
        #expect(failures.next([nil, 7, 5]) == 1_100 && failures.next([nil]) == 1_100)
        failures.stateWorks()
        #expect(failures.next([nil, 7, 5]) == 5)
    }

    /// To open a large journal takes a look at all of it, also where nothing can be written then.
    @Test func aTryThatCostsMuchIsNotRepeatedSoon() {
        var failures = StoreFailures(pause: TimeSpan(microseconds: 100))
        let times = [Int64(0), 4, 20, 1_000].map { cost in
            failures.journalFailed(self.error(.full), at: 1_000)
            _ = failures.endRound(at: 1_010, cost: cost)
            return failures.retryAt
        }
        #expect(times == [1_100, 1_100, 1_410, 4_010])
        // While all goes well nothing is put off.
        failures.journalWorks()
        _ = failures.endRound(at: 9_000, cost: 1_000)
        failures.journalFailed(self.error(.full), at: 9_100)
        #expect(failures.retryAt == 9_200)
    }

    /// Nobody waits for ever for a page that will not be read again.
    @Test func whatCanNeverBeReadIsDamagedInTheEnd() {
        let history = FileHistory(of: "/none/journal.db")
        func isGivenUp(at time: Int64) -> Bool { history.couldNotBeRead(at: time, pause: 10) }
        // However often somebody asks for what is in it meanwhile.
        for time in Int64(0)..<600 { #expect(!isGivenUp(at: time)) }
        #expect(isGivenUp(at: 600))
        // Another file, which is not to be set aside in place of that one for what was counted of it.
        history.beginAnew()
        for time in Int64(1)...60 { #expect(!isGivenUp(at: 600 + 10 * time)) }
        #expect(isGivenUp(at: 1_210))
        history.opened()
        #expect(!isGivenUp(at: 1_220))
    }

    @Test func whatFailsStillIsToldBeforeWhatIsMended() {
        var failures = StoreFailures(pause: .zero)
        var told: [String?] = []
        failures.mend(self.error(.broken, "first"))
        failures.mend(self.error(.broken, "second"))
        told.append(failures.endRound(at: 0, cost: 0)?.description)
        told.append(failures.endRound(at: 0, cost: 0)?.description)
        failures.mend(self.error(.lost, "file"))
        failures.journalFailed(self.error(.full, "journal"), at: 0)
        told.append(failures.endRound(at: 0, cost: 0)?.description)
        failures.stateFailed(self.error(.full, "state"), at: 0)
        told.append(failures.endRound(at: 0, cost: 0)?.description)
        failures.mend(self.error(.lost, "file"))
        failures.directoryFailed(self.error(.lost, "directory"))
        failures.stateWorks()
        failures.journalWorks()
        told.append(failures.endRound(at: 0, cost: 0)?.description)
        #expect(told == ["first", nil, "journal", "state", "directory"])
    }
}
