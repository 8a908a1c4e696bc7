import Motion
import Testing

@testable import Traces

/// GPX and NMEA files as traces of the sensor `location`.
@Suite struct TrackTests {
    private func gpx(_ points: String) -> String {
        "<?xml version=\"1.0\"?>\n<gpx version=\"1.1\"><trk><trkseg>\(points)</trkseg></trk></gpx>\n"
    }

    private func point(_ lat: String, _ lon: String, _ rest: String) -> String {
        "<trkpt lat=\"\(lat)\" lon=\"\(lon)\">\(rest)</trkpt>"
    }

    private func rows(_ trace: ReadTrace) -> [[Double]] {
        guard let block = trace.blocks.first else { return [] }
        return (0..<block.count).map { Array(block.values[$0 * 5..<$0 * 5 + 5]) }
    }

    @Test func gpxIsATraceOfPlaces() throws {
        let text = self.gpx(
            self.point("46.5", "14.25", "<ele>300</ele><time>2026-11-22T06:30:15Z</time><speed>2.5</speed>")
                + self.point("46.5", "14.2501", "<time>2026-11-22T07:30:16.5+01:00</time><hdop>0.8</hdop>")
                + "<!-- a <remark> with > and -- in it - -->"
                + self.point(
                    "46.5", "14.2502",
                    "<time> 2026-11-22T06:30:18 </time><extensions><g:ext xmlns:g='x'><g:speed>9</g:speed>"
                        + "<g:course>271.5</g:course><g:time>no</g:time></g:ext></extensions>"))
        let trace = read(text)
        #expect(trace.problem == nil)
        let header = try #require(trace.header)
        #expect(header.sensors.map(\.name) == ["location"])
        #expect(header.sensors[0].channels == ["latitude", "longitude", "speed", "course", "accuracy"])
        #expect(header.sensors[0].unit == "deg,deg,m/s,deg,m")
        #expect(header["start"] == "2026-11-22T06:30:15Z")
        #expect(trace.blocks[0].times == [0, 1_500_000, 3_000_000])
        let rows = self.rows(trace)
        #expect(rows[0] == [46.5, 14.25, 2.5, 0, 10])
        // 7.67 m in 1.5 s, to the east.
        #expect(abs(rows[1][2] - 5.116) < 0.01 && abs(rows[1][3] - 90) < 0.01 && rows[1][4] == 4)
        #expect(rows[2] == [46.5, 14.2502, 9, 271.5, 10])
    }

    @Test func chunksOfAnySizeReadTheSame() {
        let drive = SyntheticDrive(seed: 3, legs: [SyntheticDrive.Leg("walk", speed: 1.5, .seconds(30), bend: 5)])
        let points = drive.fixes.map {
            self.point(
                "\($0.position.latitude)", "\($0.position.longitude)", "<time>\(CalendarTime.text($0.time))</time>")
        }
        let sentences =
            "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n"
            + "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n"
        for text in [self.gpx(points.joined(separator: "\n  ")), "\u{FEFF}" + self.gpx(points.joined()), sentences] {
            let whole = read(text)
            #expect(whole.problem == nil)
            for size in [1, 2, 3, 5, 64, 1_000] {
                #expect(read(Array(text.utf8), chunks: { _ in size }) == whole)
            }
        }
    }

    @Test(arguments: [
        ("<gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"></trkpt></trkseg></trk></gpx>", "1:49: the point has no time"),
        ("<gpx><trkpt lat=\"91\" lon=\"2\">", "1:29: 91.0, 2.0 is no place on earth"),
        ("<gpx><trkpt lat=\"1\">", "1:20: expected the point's 'lon' in degrees"),
        ("<gpx><trkpt lat=\"1\" lon=\"x\">", "1:28: expected the point's 'lon' in degrees"),
        ("<gpx>\n<trk></gpx>", "2:11: expected '</trk>', found '</gpx>'"),
        ("<gpx>\n<trk>", "2:6: expected '</trk>', found the end of the trace"),
        ("<gpx></gpx>", "1:1: expected a point of a track, found the end of the trace"),
        ("<gpx/><gpx/>", "1:12: a second root element"), ("<gpx/>x", "1:7: text outside of all elements"),
        ("<kml></kml>", "1:5: expected '<gpx>', found '<kml>'"),
        ("<!DOCTYPE gpx [<!ENTITY a \"b\">]><gpx/>", "1:10: a document type, which is not read"),
        ("<gpx a=1/>", "1:10: '<gpx a=1/>' is no tag"),
        ("<gpx a='1' a='2'/>", "1:18: the attribute 'a' stands here twice"),
        ("<gpx a='1'b='2'/>", "1:17: '<gpx a='1'b='2'/>' is no tag"), ("<gpx <trk>", "1:6: '<' in a tag"),
        ("<gpx", "1:5: expected '>', found the end of the trace"),
        (
            "<gpx><trkpt lat=\"1\" lon=\"2\"><time>2026-13-01T00:00:00Z</time>",
            "1:61: expected a time such as '2026-11-22T06:30:15Z', found '2026-13-01T00:00:00Z'"
        ),
        ("<gpx><trkpt lat=\"1\" lon=\"2\"><speed>nan</speed>", "1:46: expected a number, found 'nan'"),
        ("<gpx><trkpt lat=\"1\" lon=\"2\"><time><b>", "1:37: expected a value, found '<b>'"),
        ("<gpx><trkpt lat=\"1\" lon=\"2\"><trkpt>", "1:35: a point in a point"),
        ("<gpx>\u{1}", "1:6: a control character"),
        ("<gpx><trkpt lat=\"1\" lon=\"2\"><time><![CDATA[x]]>", "1:47: a value in a literal"),
    ])
    func whatIsWrongWithAGPXFileIsToldWithItsPlace(_ text: String, _ problem: String) {
        #expect(read(text).problem.map { "\($0)" } == problem)
    }

    @Test func whatIsDeepOrLongIsRefused() {
        #expect(read(String(repeating: "<gpx>", count: 65)).problem?.message == "more than 64 elements deep")
        let attributes = (0..<65).map { " a\($0)=''" }.joined()
        #expect(read("<gpx\(attributes)>").problem?.message == "more than 64 attributes")
        #expect(
            read("<gpx a='" + String(repeating: "x", count: 20_000)).problem?.message
                == "the tag is longer than 16384 bytes")
        #expect(
            read("<gpx><trkpt lat='1' lon='2'><speed>" + String(repeating: "1", count: 300)).problem?.message
                == "the value is longer than 256 bytes")
        // What nobody reads may be as long as it likes.
        let long = String(repeating: "x", count: 100_000)
        #expect(
            read(
                self.gpx(
                    "<!--\(long)--><a>\(long)</a><![CDATA[\(long)]]>"
                        + self.point("1", "2", "<time>2026-11-22T06:30:15Z</time>"))
            ).problem == nil)
    }

    @Test func pointsThatDoNotFollowInTimeAreLeftOut() {
        var reader = TraceReader()
        let text = self.gpx(
            ["10", "11", "11", "05", "12"].map { self.point("1", "2", "<time>2026-11-22T06:30:\($0)Z</time>") }.joined()
        )
        #expect((try? reader.feed(Array(text.utf8).span)) != nil)
        #expect(reader.blocks[0].times == [0, 1_000_000, 2_000_000])
        #expect(reader.leftOut == 2)
    }

    /// A sentence with its checksum.
    private func sentence(_ body: String) -> String {
        let sum = body.utf8.reduce(UInt8(0)) { $0 ^ $1 }
        let digits = String(sum, radix: 16, uppercase: true)
        return "$\(body)*\(digits.count < 2 ? "0" : "")\(digits)\r\n"
    }

    @Test func nmeaIsATraceOfPlaces() throws {
        let text =
            self.sentence("GPGSV,1,1,01,02,03,04,05") + self.sentence("GPRMC,235958,V,,,,,,,311299,,")
            + self.sentence("GPGGA,235959.00,8959.9999,S,17959.9400,W,1,08,1.2,1,M,2,M,,")
            + self.sentence("GNRMC,235959.00,A,8959.9999,S,17959.9400,W,10.0,,311299,,,A")
            + self.sentence("GLRMC,000000.25,A,8959.9999,S,17959.9400,E,,84.4,010100,,,A") + "\r\n"
        let trace = read(text)
        #expect(trace.problem == nil)
        #expect(trace.header?["start"] == "1999-12-31T23:59:59Z")
        #expect(trace.blocks.first?.times == [0, 1_250_000])
        let rows = self.rows(trace)
        try #require(rows.count == 2)
        #expect(abs(rows[0][0] + 89.99999833) < 1e-7 && abs(rows[0][1] + 179.999) < 1e-9)
        #expect(abs(rows[0][2] - 5.14444) < 1e-4 && rows[0][4] == 6)
        // Across the date line beside the pole there is next to no way.
        #expect(rows[1][2] < 0.001 && rows[1][3] == 84.4)
    }

    @Test func aDamagedSentenceIsLeftOutAndCounted() {
        let good = self.sentence("GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W")
        var reader = TraceReader()
        let damaged = good.replacing("4807", with: "4817")
        let text = damaged + "$GPRMC,1235\r\n" + good + "$GPRMC,no checksum\r\n" + good.replacing("*6A", with: "*XY")
        #expect((try? reader.feed(Array(text.utf8).span)) != nil)
        #expect((try? reader.finish()) != nil)
        #expect(reader.rows == 1)
        #expect(reader.leftOut == 4)
        #expect(read(damaged).problem?.message == "expected an RMC sentence with a fix, found the end of the trace")
    }

    @Test(arguments: [
        ("GPRMC,253519,A,4807.038,N,01131.000,E,1,2,230394", 8, "expected a time such as '063015.00'"),
        ("GPRMC,123519,A,4807.038,N,01131.000,E,1,2,300294", 44, "expected a date such as '221126'"),
        ("GPRMC,123519,A,4867.038,N,01131.000,E,1,2,230394", 17, "expected degrees and minutes such as '4807.038'"),
        ("GPRMC,123519,A,4807.038,X,01131.000,E,1,2,230394", 26, "expected 'N' or 'S'"),
        ("GPRMC,123519,A,9107.038,N,01131.000,E,1,2,230394", 17, "91.1173, 11.516666666666667 is no place on earth"),
        ("GPRMC,123519,A,4807.038,N,01131.000,E,inf,2,230394", 40, "expected a speed in knots"),
        ("GPRMC,123519,A,4807.038,N", 26, "the sentence is too short"),
        ("GPGGA,123519,A", 15, "the sentence is too short"),
    ])
    func aSentenceThatMakesNoSenseIsAnError(_ body: String, _ column: Int, _ message: String) {
        let problem = read(self.sentence("GPGLL,") + self.sentence(body)).problem
        #expect(problem?.line == 2 && problem?.column == column, "\(problem.map { "\($0)" } ?? "")")
        #expect(problem?.message == message)
    }

    @Test func timesOfTheCalendar() {
        func time(_ text: String) -> Int64? { CalendarTime.read(Array(text.utf8)) }
        #expect(time("1970-01-01T00:00:00Z") == 0)
        #expect(time("2000-02-29T12:00:00Z") == 951_825_600_000_000)
        #expect(time("1901-12-13T20:45:52.2073437Z") == -2_147_483_647_792_657)
        #expect(time("2026-11-22T06:30:15.000001-05:30") == 1_795_348_815_000_001)
        for text in [
            "1900-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-22", "2026-11-22T24:00:00Z",
            "2026-11-22T06:30:15z",
            "2026-11-22T06:30:15.Z", "2026-11-22T06:30:15ZZ", "+026-11-22T06:30:15Z", "", "0000-01-01T00:00:00Z",
        ] {
            #expect(time(text) == nil, "\(text)")
        }
        for text in ["1969-12-31T23:59:59Z", "2000-02-29T12:00:00Z", "2026-11-22T06:30:15Z", "0001-03-01T00:00:00Z"] {
            #expect(time(text).map(CalendarTime.text)?.drop { $0 == "0" } == text.drop { $0 == "0" })
        }
    }

    @Test func whatIsWrittenOfALocationReadsBack() throws {
        let drive = SyntheticDrive().block
        let sensor = TraceSensor(
            name: "location", channels: SensorDescription.channels(of: "location"),
            unit: SensorDescription.locationUnits)
        var writer = try TraceWriter(TraceHeader(sensors: [sensor]))
        for row in 0..<drive.count {
            try writer.append(
                Timestamp(microseconds: drive.times[row]), drive.values.span.extracting(row * 5..<row * 5 + 5))
        }
        let again = read(writer.bytes)
        #expect(again.problem == nil)
        #expect(again.blocks == [drive])
        #expect(throws: TraceWriter.Problem.self) {
            try TraceWriter(TraceHeader(sensors: [TraceSensor(name: "location", channels: ["latitude"], unit: "deg")]))
        }
        #expect(
            read("# jostle trace 1\n# sensor: location\n# unit: km/h\nt,speed\n0,1\n").problem?.message
                == "expected the unit of 'location' to be deg,deg,m/s,deg,m, found 'km/h'")
    }

    @Test func theDriveIsTheSameEachTimeAndKeepsItsSpeeds() {
        #expect(SyntheticDrive(seed: 9).fixes == SyntheticDrive(seed: 9).fixes)
        #expect(SyntheticDrive(seed: 9).fixes != SyntheticDrive(seed: 10).fixes)
        let fixes = SyntheticDrive(seed: 9, legs: [.init("road", speed: 20, .seconds(100))]).fixes
        #expect(fixes.count == 100)
        #expect(abs(fixes[20].position.distance(to: fixes[99].position) - 79 * 20) < 20)
        #expect(fixes[20...].allSatisfy { abs(($0.speed ?? 0) - 20) <= 0.15 })
    }
}
