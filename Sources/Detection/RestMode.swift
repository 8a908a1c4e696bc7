/// How a rest is counted.
package enum RestMode: String, Sendable, CaseIterable {
    /// A true look fires when the last hit is at least one rest ago.
    case leading
    /// A true look fires when the last true look is at least one rest ago, so each true look starts the rest anew.
    case restarting
    /// Every true look fires.
    case none
}

/// What a detector with a pace sees of the samples between two looks.
package enum Decimation: String, Sendable, CaseIterable {
    /// The first sample of each bucket, as it is.
    case last
    /// The mean of each channel over the bucket; looks when the bucket closes.
    case mean
    /// Of each channel the value furthest from zero in the bucket; looks when the bucket closes.
    case peak
}
