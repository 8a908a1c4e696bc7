import DBus
import Motion
import Protocol
import Testing

/// Rows of `ListUsage` say the same on both sides of the bus, and are what the next page is asked for with.
@Suite struct UsageRowTests {
    private static let rows = [
        (nil, nil, nil), (7, nil, 9), (UserShares.unknown, .sensor("light"), 0), (0, .interface("org.example.A"), nil),
    ].map { (user: UInt32?, part: LimitUsage.Part?, share: Int?) in
        UsageTable.Row(
            UsageTable.Key(user: user, limit: "apps", part: part), held: 3, limit: 12, reserve: user == nil ? 4 : 0,
            share: share)
    }

    @Test func aRowIsReadAsItIsWritten() throws {
        for row in Self.rows {
            #expect(UsageTable.Row(row.wire) == row)
            #expect(try UsageTable.Key.after([ListOptions.after: .options(row.wire)]) == row.key)
        }
        #expect(try UsageTable.Key.after([:]) == nil)
    }

    @Test func whatIsNoRowIsNotRead() {
        #expect(UsageTable.Row([:]) == nil && UsageTable.Row(["limit": .uint64(1)]) == nil)
        for after in [Value.string("apps"), .options([:]), .dictionary(key: "s", value: "s", [])] {
            #expect(throws: BusError.self) { try UsageTable.Key.after([ListOptions.after: after]) }
        }
        #expect(throws: BusError.self) { try UsageTable.Key.after(["aftr": .options([:])]) }
        // Whoever sends a row may be anybody.
        let odd = UsageTable.Row([
            "limit": .string("a"), "held": .string("x"), "most": .uint64(.max), "user": .string("0"),
        ])
        #expect(odd?.key.user == nil && odd?.held == 0 && odd?.limit == .max && odd?.share == nil)
    }
}
