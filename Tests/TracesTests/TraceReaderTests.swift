import Motion
import Testing
import Traces
import Randomness

@Suite struct TraceReaderTests {
    @Test func readsATrace() {
        let trace = read(
            """
            # jostle trace 1
            # sensor: accelerometer
            # unit: g
            # label: not-shake walk
            # a remark without a key
            # source: made by hand: here

            t,x,y,z
            0,-0.4880,-0.4,-.704
            40000,1e-1,+2,3.

            # a remark between rows: ignored
            80000, 0.25 ,\t-0 ,1
            """)
        #expect(trace.problem == nil)
        #expect(
            trace.header
                == TraceHeader(
                    sensors: [TraceSensor(name: "accelerometer", channels: ["x", "y", "z"], unit: "g")],
                    notes: [
                        TraceHeader.Note(key: "label", value: "not-shake walk"),
                        TraceHeader.Note(key: "source", value: "made by hand: here"),
                    ]))
        #expect(trace.header?["label"] == "not-shake walk")
        #expect(trace.header?["unit"] == nil)
        #expect(trace.blocks.map(\.times) == [[0, 40_000, 80_000]])
        #expect(trace.blocks.map(\.values) == [[-0.488, -0.4, -0.704, 0.1, 2, 3, 0.25, 0, 1]])
    }

    @Test func readsSeveralSensors() {
        let trace = read(
            """
            # jostle trace 1
            # accelerometer.unit: m/s2
            # gyroscope.unit: deg/s
            t,accelerometer.x,accelerometer.y,light.lux,gyroscope.z
            10,9.80665,0,,
            20,,,300,180
            30,-9.80665,19.6133,5,-90
            40,,,,
            """)
        #expect(trace.problem == nil)
        #expect(trace.header?.sensors.map(\.name) == ["accelerometer", "light", "gyroscope"])
        #expect(trace.header?.sensors.map(\.unit) == ["g", "lx", "rad/s"])
        #expect(trace.header?.index(of: "gyroscope") == 2)
        #expect(trace.header?.index(of: "location") == nil)
        #expect(trace.blocks.map(\.times) == [[10, 30], [20, 30], [20, 30]])
        #expect(trace.blocks[1].values == [300, 5])
        let expected = [1, 0, -1, 2, Double.pi, -Double.pi / 2]
        for (value, expected) in zip(trace.blocks[0].values + trace.blocks[2].values, expected) {
            #expect(abs(value - expected) < 1e-12)
        }
    }

    @Test func metresPerSecondSquaredBecomeG() {
        let trace = read("# jostle trace 1\n# sensor: accelerometer\n# unit: m/s2\nt,x,y,z\n0,9.80665,-19.6133,0\n")
        #expect(trace.header?.sensors.first?.unit == "g")
        #expect(trace.blocks.first?.values.map { ($0 * 1e9).rounded() / 1e9 } == [1, -2, 0])
    }

    @Test func unknownSensorsKeepTheirUnit() {
        let trace = read("# jostle trace 1\n# sensor: barometer\n# unit: hPa\nt,p\n5,1013.25")
        #expect(trace.header?.sensors == [TraceSensor(name: "barometer", channels: ["p"], unit: "hPa")])
        #expect(trace.blocks.first?.values == [1_013.25])
    }

    @Test(arguments: ["\r\n", "\n"], ["", "\u{FEFF}"])
    func lineEndsAndByteOrderMarksDoNotMatter(_ end: String, _ mark: String) {
        let lines = ["# jostle trace 1", "# sensor: light", "", "t,lux", "1,2", "  ", "3,4"]
        for last in ["", end] {
            let trace = read(mark + lines.joined(separator: end) + last)
            #expect(trace.problem == nil)
            #expect(trace.blocks.map(\.times) == [[1, 3]])
            #expect(trace.blocks.map(\.values) == [[2, 4]])
        }
    }

    @Test func aTraceWithoutRowsIsFine() {
        let trace = accelerometer("")
        #expect(trace.problem == nil)
        #expect(trace.blocks.map(\.isEmpty) == [true])
    }

    /// A row, the column where it is wrong, and what the message says.
    static let badRows: [(String, Int, String)] = [
        ("x,1,2,3", 1, "expected whole microseconds, found 'x'"),
        (",1,2,3", 1, "expected whole microseconds, found ''"),
        ("-1,1,2,3", 1, "expected whole microseconds, found '-1'"),
        ("1.5,1,2,3", 1, "expected whole microseconds, found '1.5'"),
        ("1000000000000000000,1,2,3", 1, "expected whole microseconds, found '1000000000000000000'"),
        ("7,1,2,3", 1, "expected a time after 7, found 7"),
        ("6,1,2,3", 1, "expected a time after 7, found 6"),
        ("8,1,nan,3", 5, "expected a number, found 'nan'"),
        ("8,inf,2,3", 3, "expected a number, found 'inf'"),
        ("8,1,2,-Infinity", 7, "expected a number, found '-Infinity'"),
        ("8,1,2,0x10", 7, "expected a number, found '0x10'"),
        ("8,1,2,1e400", 7, "the number '1e400' is too large"),
        ("8,1,2,3 4", 7, "expected a number, found '3 4'"),
        ("8,1,2,\u{0}", 7, "expected a number, found '\u{FFFD}'"),
        ("8,1\u{0},2,3", 3, "expected a number, found '1\u{FFFD}'"),
        ("8,1,2", 6, "expected 4 cells, found 3"),
        ("8", 2, "expected 4 cells, found 1"),
        ("8,1,2,3,4", 8, "expected 4 cells, found more"),
        ("8,1,2,3,", 8, "expected 4 cells, found more"),
        ("8,1,,3", 3, "expected all 3 values of the sensor, found 2"),
        ("8,,,", 3, "expected all 3 values of the sensor, found 0"),
        ("8 9,1,2,3", 1, "expected whole microseconds, found '8 9'"),
    ]

    @Test(arguments: badRows)
    func aBadRowIsAnErrorWithItsPlace(_ row: String, _ column: Int, _ message: String) {
        let trace = accelerometer("7,1,2,3\n\(row)\n9,1,2,3\n")
        #expect(trace.problem == TraceProblem(line: 6, column: column, message: message))
        // What stood before is good.
        #expect(trace.blocks.map(\.times) == [[7]])
    }

    @Test func aSensorIsReadAsAWholeOrNotAtAll() {
        let trace = read("# jostle trace 1\nt,a.x,a.y,b.z\n1,1,,3\n")
        #expect(trace.problem?.description == "3:3: expected all 2 values of the sensor, found 1")
    }

    /// What stands before the rows, and what is wrong with it.
    static let badHeaders: [(String, String)] = [
        ("", "1:1: expected '# jostle trace 1', found the end of the trace"),
        ("t,x,y,z\n", "1:1: expected '# jostle trace 1', found 't,x,y,z'"),
        ("# jostle trace 2\n", "1:1: expected '# jostle trace 1', found '# jostle trace 2'"),
        ("# jostle trace 1", "2:1: expected the columns, such as 't,x,y,z', found the end of the trace"),
        ("# jostle trace 1\n# sensor: a\n", "3:1: expected the columns, such as 't,x,y,z', found the end of the trace"),
        ("# jostle trace 1\n1,2,3\n", "2:1: expected the columns, such as 't,x,y,z', found '1,2,3'"),
        ("# jostle trace 1\n# sensor: a\nt\n", "3:2: expected a channel after 't'"),
        ("# jostle trace 1\n# sensor: a\nt,x,\n", "3:5: expected the name of a channel, found ''"),
        ("# jostle trace 1\n# sensor: a\nt,x,y z\n", "3:5: expected the name of a channel, found 'y z'"),
        ("# jostle trace 1\n# sensor: a\nt,x,y,x\n", "3:7: the column 'x' stands here twice"),
        (
            "# jostle trace 1\nt,x\n",
            "2:3: whose channel is 'x'? expected '# sensor: NAME' above, or 'SENSOR.x'"
        ),
        (
            "# jostle trace 1\n# sensor: a\nt,b.x\n",
            "3:1: the trace says 'sensor: a', but its columns name other sensors"
        ),
        ("# jostle trace 1\nt,a.x,b.x,a.y\n", "2:11: the columns of 'a' do not stand side by side"),
        ("# jostle trace 1\n# sensor: a\n# sensor: a\n", "3:11: 'sensor' stands here twice"),
        ("# jostle trace 1\n# sensor: a b\n", "2:11: expected the name of a sensor, found 'a b'"),
        ("# jostle trace 1\n# unit: g\n# unit: g\n", "3:9: 'unit' stands here twice"),
        ("# jostle trace 1\n# unit: g\nt,a.x,b.x\n", "3:1: expected 'a.unit' instead of 'unit'"),
        ("# jostle trace 1\n# b.unit: g\nt,a.x\n", "3:1: 'b.unit' is given, but no column of 'b'"),
        ("# jostle trace 1\n# range: 1\n# range: 1\n", "3:10: 'range' stands here twice"),
        ("# jostle trace 1\n# range: 4g\n", "2:10: expected a number above 0, found '4g'"),
        ("# jostle trace 1\n# range: 0\n", "2:10: expected a number above 0, found '0'"),
        ("# jostle trace 1\n# a.range: 1e999\n", "2:12: expected a number above 0, found '1e999'"),
        ("# jostle trace 1\n# range: 1\nt,a.x,b.x\n", "3:1: expected 'a.range' instead of 'range'"),
        ("# jostle trace 1\n# range: 1\n# a.range: 1\nt,a.x\n", "4:1: 'range' stands here twice"),
        ("# jostle trace 1\n# b.range: 1\nt,a.x\n", "3:1: 'b.range' is given, but no column of 'b'"),
        (
            "# jostle trace 1\n# sensor: accelerometer\n# unit: deg\nt,x\n",
            "4:1: expected the unit of 'accelerometer' to be one of g, mg, m/s2, found 'deg'"
        ),
        (
            "# jostle trace 1\n# label: a\u{0}b\n",
            "2:10: the value of 'label' is too long or has control characters"
        ),
    ]

    @Test(arguments: badHeaders)
    func aBadHeaderIsAnErrorWithItsPlace(_ text: String, _ message: String) {
        #expect(read(text).problem?.description == message)
    }

    @Test func whatIsWithoutBoundIsRefused() {
        let channels = (0...SensorLimits.channels).map { "c\($0)" }.joined(separator: ",")
        #expect(
            read("# jostle trace 1\n# sensor: a\nt,\(channels)\n").problem?.message == "more than 16 channels of 'a'")
        let sensors = (0...TraceLimits.sensors).map { "s\($0).x" }.joined(separator: ",")
        #expect(read("# jostle trace 1\nt,\(sensors)\n").problem?.message == "more than 16 sensors")
        let notes = (0...TraceLimits.notes).map { "# note: \($0)\n" }.joined()
        #expect(read("# jostle trace 1\n\(notes)").problem?.description == "66:1: more than 64 notes")
        let most = (0..<TraceLimits.sensors).map { "s\($0).x" }.joined(separator: ",")
        let row = (0..<TraceLimits.sensors).map { "\($0)" }.joined(separator: ",")
        #expect(read("# jostle trace 1\nt,\(most)\n1,\(row)\n").blocks.map(\.values) == (0..<16).map { [Double($0)] })
    }

    @Test func aLineWithoutEndIsRefusedEarly() {
        var reader = TraceReader()
        let start = Array("# jostle trace 1\n# sensor: a\nt,x\n5,".utf8)
        let chunk = [UInt8](repeating: UInt8(ascii: "1"), count: 1_000)
        var fed = 0
        var problem: TraceProblem?
        do throws(TraceProblem) {
            try reader.feed(start.span)
            while fed < 10_000_000 {
                fed += chunk.count
                try reader.feed(chunk.span)
            }
        } catch {
            problem = error
        }
        #expect(problem?.description == "4:16385: the line is longer than 16384 bytes")
        #expect(fed == 17_000)
        // The reader stays with its first error.
        #expect(throws: TraceProblem(line: 4, column: 16_385, message: "the line is longer than 16384 bytes")) {
            try reader.feed(start.span)
        }
        #expect(throws: TraceProblem.self) { try reader.finish() }
    }

    @Test func aLongNumberStillReads() {
        let trace = accelerometer("0,0." + String(repeating: "1", count: 10_000) + ",2,3")
        #expect(trace.problem == nil)
        #expect(trace.blocks.map(\.values) == [[1.0 / 9, 2, 3]])
    }

    @Test(arguments: 1...20)
    func chunksOfAnySizeGiveTheSame(_ seed: UInt64) {
        print("TraceReader chunk seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var text = "# jostle trace 1\r\n# a.unit: q\n# note: y\nt,a.x,a.y,b.z\n"
        var time = 0
        for _ in 0..<200 {
            time += Int.random(in: 1...100_000, using: &generator)
            let values = (0..<3).map { _ in Double.random(in: -4...4, using: &generator) }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: text += "\(time),,,\(values[2])\n"
            case 1: text += "\(time),\(values[0]),\(values[1]),\r\n"
            case 2: text += "# remark\n\n"
            default: text += "\(time),\(values[0]),\(values[1]),\(values[2])\n"
            }
        }
        if seed.isMultiple(of: 4) { text += "\(time),1,2,3\n\(time + 1),1,2,3" }
        let bytes = Array(text.utf8)
        let whole = read(bytes)
        #expect((whole.problem == nil) == !seed.isMultiple(of: 4))
        #expect(whole.blocks.map { $0.count > 50 } == [true, true])
        #expect(read(bytes, chunks: { _ in 1 }) == whole)
        #expect(read(bytes, chunks: { _ in Int.random(in: 1...200, using: &generator) }) == whole)
    }

    @Test(arguments: 1...40)
    func randomBytesNeverCrash(_ seed: UInt64) {
        print("TraceReader bytes seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let good = Array(
            "# jostle trace 1\n# sensor: accelerometer\n# unit: g\nt,x,y,z\n1,1,2,3\n20,-1e-3,.5,1e30\n".utf8)
        let alphabet = Array("0123456789.,-+eE#:\n\r tgxyz\u{0}".utf8)
        for _ in 0..<300 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let at = Int.random(in: 0...bytes.count, using: &generator)
                let byte =
                    Bool.random(using: &generator)
                    ? UInt8.random(in: 0...255, using: &generator) : alphabet.randomElement(using: &generator, or: 0)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes.insert(byte, at: at)
                case 1: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 0...9, using: &generator)))
                case 2: bytes.insert(contentsOf: bytes[min(at, bytes.count / 2)...].prefix(40), at: at)
                default: if at < bytes.count { bytes[at] = byte }
                }
            }
            let whole = read(bytes)
            #expect(read(bytes, chunks: { _ in Int.random(in: 1...30, using: &generator) }) == whole)
            for block in whole.blocks {
                #expect(block.values.allSatisfy { $0.isFinite })
                #expect(block.times.count * block.channels == block.values.count)
                #expect(zip(block.times, block.times.dropFirst()).allSatisfy { $0 < $1 })
            }
        }
    }
}
