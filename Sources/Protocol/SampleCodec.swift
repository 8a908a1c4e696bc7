package import DBus

/// The body of `Samples`: `(tatad)` = the first sample's sequence number, times, and values row by row.
///
/// One struct, because libdbus pays 25 allocations for four arguments and 3 for one.
package enum SampleCodec {
    package static let signature: StaticString = "(tatad)"

    /// About how many bytes a message with this many samples takes on the bus, header included.
    package static func size(samples: Int, channels: Int) -> Int { 208 + 8 * samples * (1 + channels) }

    /// Writes the body.
    package static func write(
        first: UInt64, times: Span<Int64>, values: Span<Double>, to writer: inout WireWriter
    ) {
        writer.structure { body in
            body.uint64(first)
            body.uint64s(of: times)
            body.doubles(values)
        }
    }

    /// Lends the columns of a message, or nothing when it is not what it should be.
    ///
    /// Times beyond what we compute with come out negative, and the engine refuses them as out of order.
    package static func read(
        _ message: borrowing Message, channels: Int,
        _ body: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void
    ) -> Bool {
        guard message.hasSignature(self.signature) else { return false }
        var isWhole = false
        _ = try? message.withReader { (reader: inout WireReader) throws(WireError) in
            try reader.structure { (fields: inout WireReader) throws(WireError) in
                let first = try fields.uint64()
                // SAFETY: the columns are lent only while we hold the message.
                let times = try unsafe fields.int64sOfUInt64s()
                let values = try unsafe fields.doubles()
                let (expected, overflow) = times.count.multipliedReportingOverflow(by: channels)
                guard !overflow, expected == values.count, times.count > 0 else { return }
                unsafe body(first, times.span, values.span)
                isWhole = true
            }
        }
        return isWhole
    }
}
