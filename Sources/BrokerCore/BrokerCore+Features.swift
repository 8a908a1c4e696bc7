import Detection
import Motion

/// What the conditions of all detectors cost with every look, and how much of it an app and a sensor may have.
extension BrokerCore {
    /// Counts what detectors that are about to be installed cost, and takes out those that they replace. All or none.
    mutating func count(
        _ detectors: [CompiledDetector], _ requests: [DetectorRequest], of client: ClientID
    ) throws(Refusal) {
        var added: [CompiledDetector] = []
        var replaced: [CompiledDetector] = []
        for (detector, request) in zip(detectors, requests) {
            let old = self.app(client)?.detectors[request.name]
            // The same request again changes nothing.
            if let old, old.isUnchanged(by: detector, request) { continue }
            added.append(detector)
            if let old { replaced.append(old.effective) }
        }
        for detector in replaced { self.count(detector, of: client, isGone: true) }
        for detector in added { self.count(detector, of: client, isGone: false) }
        self.countExactly(added, of: client)
        guard let refusal = self.crossedLimit(of: client, by: added) else { return }
        for detector in added { self.count(detector, of: client, isGone: true) }
        for detector in replaced { self.count(detector, of: client, isGone: false) }
        self.forgetUnknownSensors()
        throw refusal
    }

    /// Counts one detector in or out.
    mutating func count(_ detector: CompiledDetector, of client: ClientID, isGone: Bool) {
        let stream = self.makeStream(for: detector.sensor)
        if isGone {
            self.streams[stream].census.remove(detector)
            self.apps[Int(client.index)]?.census.remove(detector)
        } else {
            self.streams[stream].census.add(detector)
            self.apps[Int(client.index)]?.census.add(detector)
        }
    }

    /// Finds out what the detectors of an app share, once they could be too many if they shared nothing.
    ///
    /// - Parameter added: Counted in already, and not installed yet.
    private mutating func countExactly(_ added: [CompiledDetector], of client: ClientID) {
        let index = Int(client.index)
        guard let app = self.apps[index], app.census.exact == nil,
            app.census.operations > self.limits.operationsPerApp || app.census.stateful > self.limits.statefulPerApp
        else { return }
        let names = Set(added.map(\.name))
        var exact = FeatureCensus()
        for detector in app.detectors.values where !names.contains(detector.request.name) {
            exact.add(detector.effective)
        }
        for detector in added { exact.add(detector) }
        self.apps[index]?.census.exact = exact
    }

    private func crossedLimit(of client: ClientID, by detectors: [CompiledDetector]) -> Refusal? {
        if let census = self.app(client)?.census.exact {
            let refusal = Self.crossedLimit(
                census, ("operations-per-app", self.limits.operationsPerApp),
                ("stateful-per-app", self.limits.statefulPerApp), "one app")
            if let refusal { return refusal }
        }
        for sensor in Set(detectors.map(\.sensor)).sorted() {
            guard let stream = self.index(of: sensor) else { continue }
            let refusal = Self.crossedLimit(
                self.streams[stream].census, ("operations-per-sensor", self.limits.operationsPerSensor),
                ("stateful-per-sensor", self.limits.statefulPerSensor), "all apps on the \(printable(sensor))")
            if let refusal { return refusal }
        }
        return nil
    }

    private static func crossedLimit(
        _ census: borrowing FeatureCensus, _ operations: (name: String, value: Int),
        _ stateful: (name: String, value: Int), _ whose: String
    ) -> Refusal? {
        if census.stateful > stateful.value {
            return .limit(
                name: stateful.name, value: UInt64(stateful.value),
                message: "the conditions of \(whose) have \(census.stateful) different filters and windows")
        }
        if census.operations > operations.value {
            return .limit(
                name: operations.name, value: UInt64(operations.value),
                message: "the conditions of \(whose) have \(census.operations) different operations")
        }
        return nil
    }
}
