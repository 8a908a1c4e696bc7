import Motion

extension TimeSpan {
    /// A duration in whole microseconds.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .seconds(seconds) + TimeSpan(microseconds: attoseconds / 1_000_000_000_000)
    }
}
