import Devices
import Motion
import SensorCore

/// A sensor that is made of others, which it claims as everybody does.
protocol FusedSource: SampleSource, SampleTaker {
    associatedtype Fusion: VectorFusion
    var fusion: Fusion { get set }
}

extension FusedSource {
    /// Puts vectors into the fusion, and passes on what comes of them. Nothing of ours is held while others have the word.
    func fuse(
        _ times: Span<Int64>, _ values: Span<Double>, _ add: (inout Fusion, SIMD3<Double>, Timestamp) -> Void
    ) {
        guard values.count == 3 * times.count else { return }
        for index in times.indices {
            let value = SIMD3(values[3 * index], values[3 * index + 1], values[3 * index + 2])
            add(&self.fusion, value, Timestamp(microseconds: times[index]))
        }
        while let time = self.fusion.next() {
            let row = self.fusion.row
            self.sink?.sample(at: time, row.span)
        }
        self.sink?.readingDone()
    }

    func gap(in sensor: SensorService) {
        self.fusion.gap()
        self.sink?.gap()
    }

    func inject(_ motion: String) throws(InjectProblem) { throw .notSupported }
}
