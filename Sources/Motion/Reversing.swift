extension Array {
    /// Turns the order round where the elements stand: nothing is copied, as `reverse` would do with large ones.
    @inlinable
    package mutating func turnRound() {
        var (first, last) = (0, self.count - 1)
        guard first < last else { return }
        // SAFETY: both are places of this array.
        unsafe self.withUnsafeMutableBufferPointer { elements in
            while first < last {
                unsafe elements.swapAt(first, last)
                first += 1
                last -= 1
            }
        }
    }
}
