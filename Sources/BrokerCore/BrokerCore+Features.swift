import Arbitration
import Detection
import Motion

/// What the conditions of all detectors cost with every look, and how much of it an app and a sensor may have.
extension BrokerCore {
    /// Counts what detectors that are about to be installed cost, and takes out those that they replace. All or none.
    mutating func count(
        _ detectors: [CompiledDetector], _ requests: [DetectorRequest], of client: AppHandle, _ payer: UInt32
    ) throws(Refusal) {
        var added: [CompiledDetector] = []
        var replaced: [InstalledDetector] = []
        for (detector, request) in zip(detectors, requests) {
            let old = self.app(client)?.detectors[request.name]
            // The same request again changes nothing.
            if let old, old.isUnchanged(by: detector, request) { continue }
            added.append(detector)
            if let old { replaced.append(old) }
        }
        for old in replaced { self.change(old.effective, of: client, old.payer, isGone: true) }
        for detector in added { self.change(detector, of: client, payer, isGone: false) }
        self.countExactly(added, of: client)
        guard let refusal = self.crossedLimit(of: client, payer, by: added) else {
            for old in replaced { self.sensing.book(old.sensor, old.payer) }
            for sensor in Set(added.map(\.sensor)) { self.sensing.book(sensor, payer) }
            return
        }
        for detector in added { self.change(detector, of: client, payer, isGone: true) }
        for old in replaced { self.change(old.effective, of: client, old.payer, isGone: false) }
        self.sensing.forgetUnknown()
        throw refusal
    }

    /// Counts one detector in or out, whatever its user's share is.
    mutating func count(_ detector: CompiledDetector, of client: AppHandle, _ payer: UInt32, isGone: Bool) {
        self.change(detector, of: client, payer, isGone: isGone)
        self.sensing.book(detector.sensor, payer)
    }

    private mutating func change(_ detector: CompiledDetector, of client: AppHandle, _ payer: UInt32, isGone: Bool) {
        self.sensing.count(detector, of: payer, isGone: isGone)
        self.apps.update(client) { if isGone { $0?.census.remove(detector) } else { $0?.census.add(detector) } }
    }

    /// Finds out what the detectors of an app share, once they could be too many if they shared nothing.
    ///
    /// - Parameter added: Counted in already, and not installed yet.
    private mutating func countExactly(_ added: [CompiledDetector], of client: AppHandle) {
        guard let app = self.apps[client], app.census.exact == nil,
            app.census.operations > self.limits.operationsPerApp || app.census.stateful > self.limits.statefulPerApp
        else { return }
        let names = Set(added.map(\.name))
        var exact = FeatureCensus()
        for detector in app.detectors.values where !names.contains(detector.request.name) {
            exact.add(detector.effective)
        }
        for detector in added { exact.add(detector) }
        self.apps.update(client) { $0?.census.exact = exact }
    }

    private func crossedLimit(
        of client: AppHandle, _ payer: UInt32, by detectors: [CompiledDetector]
    ) -> Refusal? {
        if let census = self.app(client)?.census.exact, let refusal = self.crossedLimit(census) { return refusal }
        for sensor in Set(detectors.map(\.sensor)).sorted() {
            guard let overrun = self.sensing.overrun(on: sensor, of: payer) else { continue }
            return Refusal(
                overrun.name, overrun.shares, payer,
                "the conditions on the \(printable(sensor)) have \(overrun.amount) \(overrun.what)")
        }
        return nil
    }

    private func crossedLimit(_ census: borrowing FeatureCensus) -> Refusal? {
        if census.stateful > self.limits.statefulPerApp {
            return .limit(
                name: "stateful-per-app", value: UInt64(self.limits.statefulPerApp),
                message: "the conditions of one app have \(census.stateful) different filters and windows")
        }
        if census.operations > self.limits.operationsPerApp {
            return .limit(
                name: "operations-per-app", value: UInt64(self.limits.operationsPerApp),
                message: "the conditions of one app have \(census.operations) different operations")
        }
        return nil
    }
}
