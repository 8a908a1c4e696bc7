import Testing

extension EndToEnd {
    /// All that may go wrong, at once and for as long as is asked for.
    @Suite(.serialized) struct Soaks {
        /// `make soak-processes` plays it for an hour, and asks then what memory is left.
        @Test func allOfItAtOnce() throws { try SoakScene().run() }
    }
}
