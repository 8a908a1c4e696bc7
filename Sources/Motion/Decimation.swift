/// What is made of the samples that come between two that are wanted.
package enum Decimation: String, Sendable, CaseIterable {
    /// The first sample of each bucket, as it is.
    case last
    /// The mean of each channel over the bucket; there when the bucket closes.
    case mean
    /// Of each channel the value furthest from zero in the bucket; there when the bucket closes.
    case peak
}
