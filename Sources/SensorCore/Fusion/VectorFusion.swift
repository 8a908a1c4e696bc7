package import Motion

/// Makes the samples of one sensor of the vectors of two others.
package protocol VectorFusion {
    /// The channels of the sample that `next` announced.
    var row: [Double] { get }
    /// Makes the next sample and returns its time; `nil` when there is none yet.
    mutating func next() -> Timestamp?
    /// What comes next does not follow on from what came before.
    mutating func gap()
}
