import Motion
import Testing

@Suite struct DetectorBatchTests {
    private static func requests(_ count: Int, bytes: Int) -> [DetectorRequest] {
        (0..<count).map {
            DetectorRequest(name: "d\($0)", options: ["when": .text(String(repeating: " ", count: bytes))])
        }
    }

    /// No call is too large for the broker, none is more than needed, and all come in their order.
    @Test(arguments: [(0, 9), (1, 9), (64, 9), (65, 9), (128, 9), (300, 9), (16, 4_096), (17, 4_096), (1, 70_000)])
    func splitsInOrder(_ count: Int, _ bytes: Int) {
        let requests = Self.requests(count, bytes: bytes)
        let batches = DetectorBatch.split(requests)
        #expect(batches.flatMap { $0.map(\.name) } == requests.map(\.name))
        for batch in batches {
            #expect(!batch.isEmpty && batch.count <= DetectorBatch.detectors)
            #expect(batch.count * bytes <= DetectorBatch.conditionBytes || batch.count == 1)
        }
        let perCall = max(1, min(DetectorBatch.detectors, DetectorBatch.conditionBytes / bytes))
        #expect(batches.count == (count + perCall - 1) / perCall)
    }
}
