/// How many detectors one call may add or remove, so that nobody waits for the call of another.
///
/// Part of what the broker's `Limits` shows; clients keep to it.
package enum DetectorBatch {
    package static let detectors = 64
    /// What an app can have in all, and so what a call can remove.
    package static let mostOfApp = 2_048
    /// Bytes of their conditions, and of what else they say at length.
    package static let conditionBytes = 65_536
    /// Bytes of the value of an option that count as nothing.
    package static let wordBytes = 64

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
    /// Bytes of what it says at length: its condition, and of other texts, such as a taught gesture, what no short word needs.
    package var conditionBytes: Int {
        self.options.reduce(0) { sum, option in
            guard case .text(let text) = option.value else { return sum }
            return sum + (option.key == "when" ? text.utf8.count : max(0, text.utf8.count - DetectorBatch.wordBytes))
        }
    }
}
