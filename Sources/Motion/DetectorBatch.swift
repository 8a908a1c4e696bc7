/// How many detectors one call may add, so that nobody waits for the call of another.
///
/// Part of what the broker's `Limits` shows; clients keep to it.
package enum DetectorBatch {
    package static let detectors = 64
    /// Bytes of their conditions.
    package static let conditionBytes = 65_536

    /// Splits requests into as few calls as may be, in their order.
    package static func split(_ requests: [DetectorRequest]) -> [ArraySlice<DetectorRequest>] {
        var batches: [ArraySlice<DetectorRequest>] = []
        var (start, bytes) = (0, 0)
        for (index, request) in requests.enumerated() {
            let isFull = index - start == self.detectors || bytes + request.conditionBytes > self.conditionBytes
            if isFull, index > start {
                batches.append(requests[start..<index])
                (start, bytes) = (index, 0)
            }
            bytes += request.conditionBytes
        }
        if start < requests.count { batches.append(requests[start...]) }
        return batches
    }
}

extension DetectorRequest {
    /// Bytes of the condition of one without a preset.
    package var conditionBytes: Int {
        guard case .text(let condition) = self.options["when"] else { return 0 }
        return condition.utf8.count
    }
}
