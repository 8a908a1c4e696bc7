import Motion

/// What nearly was a hit: how a detector is made that notices it.
package enum NearMiss {
    /// Beyond this share of a threshold it is one.
    package static let share = 0.8

    /// However often it is nearly hit, it is told no more often than this.
    static let rest = TimeSpan.seconds(1)

    /// The detector that is hit where this one nearly is; `nil` for one without a threshold of its own.
    package static func detector(beside detector: CompiledDetector) -> CompiledDetector? {
        guard detector.sensor != SensorDescription.location, var near = detector.scaled(by: self.share) else {
            return nil
        }
        near.startsResting = false
        guard near.native == nil else { return near }
        near.restMode = near.restMode == .none ? .leading : near.restMode
        near.rest = max(near.rest, self.rest)
        return near
    }
}

extension CompiledDetector {
    /// The operation of the catalogue whose threshold is a node's `p`; `nil`: the condition compares.
    var native: Int? {
        self.condition.formula.nodes.lastIndex {
            switch $0.operation {
            case .shake, .tilted, .gesture: true
            default: false
            }
        }
    }

    /// The same detector with a threshold that is so many times as far from rest; `nil` for one without a threshold.
    ///
    /// Where less is more, as in free fall, a smaller share is a larger number.
    package func scaled(by share: Double) -> CompiledDetector? {
        guard let threshold, threshold != 0, threshold.isFinite, share > 0, share.isFinite else { return nil }
        var scaled = self
        if let native {
            scaled.condition.formula.nodes[native].p *= share
            scaled.threshold = threshold * share
            return scaled
        }
        let (quantity, sign) = (self.condition.formula.quantity, self.condition.formula.quantitySign)
        var isScaled = false
        for index in scaled.condition.atoms.indices
        where scaled.condition.atoms[index].node == quantity && scaled.condition.atoms[index].sign == sign {
            let key = scaled.condition.atoms[index].key
            scaled.condition.atoms[index].key = key > 0 ? key * share : key / share
            isScaled = true
        }
        guard isScaled else { return nil }
        scaled.threshold = sign * threshold > 0 ? threshold * share : threshold / share
        return scaled
    }
}

extension CompiledDetector {
    /// Whether a comparison with its threshold is all that it does, so that each look tells how far it is from it.
    package var isCompared: Bool { self.condition.isDirect && self.condition.formula.quantitySign > 0 }

    /// The same, hit at each true look. What rests by itself stays as it is.
    package var withoutRest: CompiledDetector {
        guard self.native == nil else { return self }
        var detector = self
        detector.restMode = .none
        detector.rest = .zero
        detector.startsResting = false
        return detector
    }
}
