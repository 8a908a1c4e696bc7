import Testing

@testable import Loop

@Suite struct WatchTableTests {
    private func listeners(_ table: WatchTable, _ token: WatchTable.Token) -> [EventLoop.Registration] {
        var list: [EventLoop.Registration] = []
        table.collect(token, into: &list)
        return list
    }

    @Test func kernelHearsTheUnionOfInterests() {
        var table = WatchTable()
        let (reading, first) = table.add(5, for: .read) { _ in }
        #expect(first == .add(.read))
        let (writing, second) = table.add(5, for: .write) { _ in }
        #expect(second == .modify([.read, .write]))
        #expect(table.add(5, for: .read) { _ in }.1 == .none)
        #expect(table.update(writing, for: []) == .modify(.read))
        #expect(table.update(reading, for: []) == .none)
        #expect(table.remove(writing)?.change == .some(.none))
    }

    @Test func silentDescriptorIsNotTheKernels() {
        var table = WatchTable()
        let (watch, change) = table.add(5, for: []) { _ in }
        #expect(change == .none)
        #expect(table.update(watch, for: .write) == .add(.write))
        #expect(table.update(watch, for: []) == .remove)
        #expect(table.remove(watch)?.change == .some(.none))
    }

    @Test func tokensKeepDescriptorAndGeneration() {
        for token in [
            WatchTable.Token(descriptor: 0, generation: 1), .init(descriptor: .max, generation: .max),
            .init(descriptor: 77, generation: 0x8000_0000),
        ] {
            #expect(WatchTable.Token(bits: token.bits) == token)
        }
    }

    @Test func eventOfAnEarlierUseOfTheNumberIsStale() throws {
        var table = WatchTable()
        let (old, _) = table.add(5, for: .read) { _ in }
        let stale = table.token(of: 5)
        _ = table.remove(old)
        let (new, _) = table.add(5, for: .read) { _ in }
        #expect(self.listeners(table, stale).isEmpty)
        #expect(self.listeners(table, table.token(of: 5)) == [new])
        #expect(old != new)
        #expect(table.remove(old)?.change == nil)
        #expect(table.update(old, for: []) == .none)
        #expect(table.interest(of: old) == nil)
        #expect(try #require(table.interest(of: new)).interest == .read)
    }

    @Test func tokensThatNeverWereAreNobodys() {
        var table = WatchTable()
        _ = table.add(5, for: .read) { _ in }
        #expect(self.listeners(table, .init(descriptor: 99, generation: 1)).isEmpty)
        #expect(self.listeners(table, .init(descriptor: -1, generation: 1)).isEmpty)
        #expect(self.listeners(table, .own(5)).isEmpty)
    }

    @Test func everyWatchHearsWhatItAskedForAndHangUps() throws {
        var table = WatchTable()
        let (reading, _) = table.add(5, for: .read) { _ in }
        let (writing, _) = table.add(5, for: .write) { _ in }
        let (silent, _) = table.add(5, for: []) { _ in }
        #expect(try #require(table.delivery(of: [.read, .write], to: reading)).1 == .read)
        #expect(table.delivery(of: .read, to: writing) == nil)
        #expect(try #require(table.delivery(of: [.read, .hangUp], to: writing)).1 == .hangUp)
        #expect(try #require(table.delivery(of: .failed, to: reading)).1 == .failed)
        #expect(table.delivery(of: [.read, .write, .hangUp, .failed], to: silent) == nil)
    }

    @Test func watchesOfOneDescriptorStayInOrder() {
        var table = WatchTable()
        var watches = (0..<4).map { _ in table.add(5, for: .read) { _ in }.0 }
        for index in [1, 2, 0] {
            _ = table.remove(watches.remove(at: index))
            watches.append(table.add(5, for: .read) { _ in }.0)
            #expect(self.listeners(table, table.token(of: 5)) == watches)
        }
    }

    @Test func regularFileNeverGoesToTheKernel() {
        var table = WatchTable()
        let (watch, change) = table.add(5, for: .read) { _ in }
        #expect(change == .add(.read))
        table.markAlwaysReady(5)
        #expect(table.hasAlwaysReadyWork)
        #expect(table.update(watch, for: []) == .none)
        #expect(!table.hasAlwaysReadyWork)
        #expect(table.update(watch, for: .write) == .none)
        #expect(table.remove(watch)?.change == .some(.none))
        #expect(table.alwaysReady.isEmpty)
        // The number's next use is an ordinary one.
        let (next, again) = table.add(5, for: .read) { _ in }
        #expect(again == .add(.read))
        #expect(table.remove(next)?.change == .some(.remove))
    }

    @Test func refusedChangeLeavesNoTrace() {
        var table = WatchTable()
        let (kept, _) = table.add(5, for: .read) { _ in }
        let before = table.kernelInterest(in: 5)
        let (refused, change) = table.add(5, for: .write) { _ in }
        #expect(change == .modify([.read, .write]))
        table.revert(5, to: before)
        #expect(table.remove(refused)?.change == .some(.none))
        #expect(self.listeners(table, table.token(of: 5)) == [kept])
        #expect(table.remove(kept)?.change == .some(.remove))
    }
}
