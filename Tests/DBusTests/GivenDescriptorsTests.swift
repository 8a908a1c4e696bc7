import Testing

@testable import DBus

/// Who is told that an answer did not come because it brought a descriptor.
@Suite struct GivenDescriptorsTests {
    private static let (hog, guest): (UInt32, UInt32) = (1_000, 1_001)

    @Test func whatOneUserIsGivenLeavesOthersTheirs() {
        var given = GivenDescriptors()
        given.add(1, answering: 10, of: ":1.guest", Self.guest)
        for serial in 2..<10_000 as Range<UInt32> {
            given.add(serial, answering: serial, of: ":1.\(serial % 7)", Self.hog)
        }
        #expect(given.remove(1)?.call == 10)
        #expect(given.remove(1) == nil)
        // His own oldest made room, and all that one connection may have under way is known.
        #expect(given.remove(2) == nil)
        let known = (9_000..<10_000).count { given.remove(UInt32($0)) != nil }
        #expect(known >= CallLimits.outstanding && known < GivenDescriptors.most)
    }

    @Test func whoComesWhenAllIsTakenFindsAPlace() {
        var given = GivenDescriptors()
        var serial: UInt32 = 0
        for user in 0..<40 as Range<UInt32> {
            for _ in 0..<GivenDescriptors.most {
                serial += 1
                given.add(serial, answering: 0, of: ":1.\(user)", user)
            }
            #expect(given.remove(serial)?.caller == ":1.\(user)")
            given.add(serial, answering: 0, of: ":1.\(user)", user)
        }
    }

    /// A connection whose user becomes known takes what it was given along; one that left leaves nothing.
    @Test func whoIsKnownPaysForHimself() {
        var given = GivenDescriptors()
        for serial in 1...4 as ClosedRange<UInt32> { given.add(serial, answering: 0, of: ":1.1", nil) }
        given.setUser(Self.guest, of: ":1.1")
        for serial in 5..<10_000 as Range<UInt32> { given.add(serial, answering: 0, of: ":1.2", nil) }
        #expect(given.remove(1)?.caller == ":1.1" && given.has(":1.1"))
        given.forget(":1.1")
        #expect(given.remove(2) == nil && !given.has(":1.1") && given.has(":1.2"))
    }

    /// What counts in his share already is not forgotten with what does not yet.
    @Test func whatIsHisAlreadyStaysHis() {
        var given = GivenDescriptors()
        given.add(1, answering: 10, of: ":1.1", Self.guest)
        given.add(2, answering: 20, of: ":1.1", nil)
        given.setUser(Self.guest, of: ":1.1")
        #expect(given.remove(1)?.call == 10 && given.remove(2)?.call == 20)
    }
}
