import Motion
import Testing
import Traces
import Randomness

@Suite struct TraceWriterTests {
    let accelerometer = TraceHeader(
        sensors: [TraceSensor(name: "accelerometer", channels: ["x", "y", "z"], unit: "g")],
        notes: [TraceHeader.Note(key: "label", value: "shake"), TraceHeader.Note(key: "licence", value: "none: mine")])

    @Test func writesTheShortestForm() throws {
        var writer = try TraceWriter(self.accelerometer)
        try writer.append(.zero, [0.1, -1, 0].span)
        try writer.append(Timestamp(microseconds: 10_000), [1.0 / 3, 1e-7, 1.2345678901234567e19].span)
        writer.finish()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == """
                # jostle trace 1
                # sensor: accelerometer
                # unit: g
                # label: shake
                # licence: none: mine
                t,x,y,z
                0,0.1,-1,0
                10000,0.3333333333333333,1e-07,1.2345678901234567e+19

                """)
        writer.removeBytes()
        #expect(writer.bytes.isEmpty)
    }

    @Test func readingsOfOneTimeShareARow() throws {
        let sensors = [
            TraceSensor(name: "gyroscope", channels: ["z"], unit: "rad/s"),
            TraceSensor(name: "light", channels: ["lux"], unit: "lx"),
        ]
        var writer = try TraceWriter(TraceHeader(sensors: sensors))
        try writer.append(Timestamp(microseconds: 1), [5].span, sensor: 1)
        try writer.append(Timestamp(microseconds: 1), [6].span, sensor: 0)
        try writer.append(Timestamp(microseconds: 2), [7].span, sensor: 0)
        #expect(throws: TraceWriter.Problem.notRising) {
            try writer.append(Timestamp(microseconds: 2), [8].span, sensor: 0)
        }
        try writer.append(Timestamp(microseconds: 3), [9].span, sensor: 1)
        writer.finish()
        writer.finish()
        #expect(throws: TraceWriter.Problem.notRising) {
            try writer.append(Timestamp(microseconds: 3), [8].span, sensor: 0)
        }
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(
            text == """
                # jostle trace 1
                # gyroscope.unit: rad/s
                # light.unit: lx
                t,gyroscope.z,light.lux
                1,6,5
                2,7,
                3,,9

                """)
        #expect(read(text).header == TraceHeader(sensors: sensors))
        #expect(read(text).blocks.map(\.values) == [[6, 7], [5, 9]])
    }

    @Test(arguments: [1, 2]) func rangesReadBack(_ count: Int) throws {
        let sensors = [
            TraceSensor(name: "accelerometer", channels: ["x"], unit: "g", range: 3.9228),
            TraceSensor(name: "light", channels: ["lux"], unit: "lx", range: 1e5),
        ]
        let header = TraceHeader(sensors: Array(sensors.prefix(count)))
        let text = String(decoding: try TraceWriter(header).bytes, as: UTF8.self)
        #expect(text.contains(count == 1 ? "\n# range: 3.9228\n" : "\n# light.range: 100000.0\n"))
        #expect(read(text).header == header)
        for range in [0, -1, .nan, .infinity] as [Double] {
            let sensor = TraceSensor(name: "light", channels: ["lux"], unit: "lx", range: range)
            #expect(throws: TraceWriter.Problem.self) { try TraceWriter(TraceHeader(sensors: [sensor])) }
        }
    }

    @Test func whatWouldNotReadBackIsRefused() throws {
        var writer = try TraceWriter(self.accelerometer)
        try writer.append(Timestamp(microseconds: 5), [1, 2, 3].span)
        let before = writer.bytes
        for (time, row, problem) in [
            (6, [1.0, .nan, 3], TraceWriter.Problem.notFinite), (6, [1, 2, -.infinity], .notFinite),
            (6, [1, 2], .shape), (6, [1, 2, 3, 4], .shape), (5, [1, 2, 3], .notRising), (-1, [1, 2, 3], .notRising),
            (.max, [1, 2, 3], .notRising),
        ] as [(Int64, [Double], TraceWriter.Problem)] {
            #expect(throws: problem) { try writer.append(Timestamp(microseconds: time), row.span) }
        }
        #expect(throws: TraceWriter.Problem.shape) {
            try writer.append(Timestamp(microseconds: 6), [1, 2, 3].span, sensor: 1)
        }
        #expect(writer.bytes == before)
        try writer.append(Timestamp(microseconds: 999_999_999_999_999_999), [1, 2, 3].span)
        #expect(read(writer.bytes).problem == nil)
    }

    @Test func badHeadersAreRefused() {
        func refuses(_ change: (inout TraceHeader) -> Void) -> Bool {
            var header = self.accelerometer
            change(&header)
            do throws(TraceWriter.Problem) {
                _ = try TraceWriter(header)
                return false
            } catch {
                if case .header(let message) = error { return !message.isEmpty }
                return false
            }
        }
        #expect(!refuses { _ in })
        #expect(refuses { $0.sensors = [] })
        #expect(refuses { $0.sensors.append($0.sensors[0]) })
        #expect(refuses { $0.sensors[0].name = "a.b" })
        #expect(refuses { $0.sensors[0].channels = [] })
        #expect(refuses { $0.sensors[0].channels = ["x", "x"] })
        #expect(refuses { $0.sensors[0].channels = ["x,y"] })
        #expect(refuses { $0.sensors[0].channels = (0..<17).map { "c\($0)" } })
        #expect(refuses { $0.sensors[0].unit = "m/s2" })
        #expect(refuses { $0.notes[0].value = "a\nt,x" })
        #expect(refuses { $0.notes[0].value = " a" })
        #expect(refuses { $0.notes[0].key = "sensor" })
        #expect(refuses { $0.notes[0].key = "accelerometer.unit" })
        #expect(refuses { $0.notes[0].key = "a b" })
        #expect(refuses { $0.notes = [TraceHeader.Note](repeating: $0.notes[0], count: 65) })
    }

    @Test(arguments: 1...10)
    func everythingReadsBackAsItWas(_ seed: UInt64) throws {
        print("TraceWriter seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var writer = try TraceWriter(self.accelerometer)
        var block = SampleBlock(channels: 3)
        var time: Int64 = 0
        var bytes: [UInt8] = []
        while block.count < 2_000 {
            time += Int64.random(in: 1...50_000, using: &generator)
            let row = (0..<3).map { _ in
                Bool.random(using: &generator)
                    ? Double.random(in: -16...16, using: &generator) : Double(bitPattern: generator.next())
            }
            guard row.allSatisfy({ $0.isFinite }) else { continue }
            block.append(Timestamp(microseconds: time), row)
            try writer.append(Timestamp(microseconds: time), row.span)
            if writer.bytes.count > 4_096 {
                bytes += writer.bytes
                writer.removeBytes()
            }
        }
        let trace = read(bytes + writer.bytes)
        #expect(trace.problem == nil)
        #expect(trace.header == self.accelerometer)
        #expect(trace.blocks == [block])
    }
}
