import Detection
import Glibc
import Motion
import TestSupport
import Testing
import Traces

@testable import jostle

/// What `jostle scope` draws, of samples that are known.
@Suite struct ScopePictureTests {
    private static var plain: Terminal { Terminal(isInteractive: false) }

    private func picture(_ watched: [ScopePicture.Watched] = [], _ strokes: ScopePicture.Strokes = .plain)
        -> ScopePicture
    {
        ScopePicture(heading: "accelerometer  norm", unit: "g", watched: watched, strokes: strokes)
    }

    @Test(arguments: [(80, 24), (40, 12), (200, 60), (20, 8), (5, 3), (1, 1)])
    func fitsWhateverTheSize(_ width: Int, _ height: Int) {
        var picture = self.picture((0..<9).map { .init(title: "org.example.App\($0)/shake", threshold: Double($0)) })
        for step in 0..<3_000 {
            picture.sample(at: Timestamp(microseconds: Int64(step) * 20_000), Double(step % 40) / 10)
            if step % 100 == 0 { picture.hit(step / 100 % 9, at: Timestamp(microseconds: Int64(step) * 20_000)) }
        }
        let lines = picture.lines(width: width, height: height, Self.plain)
        #expect(lines.count == height)
        #expect(width < 20 || lines.allSatisfy { $0.count <= width }, "\(lines)")
        #expect(!lines.joined().contains("\u{1B}"))
    }

    @Test func aFallIsBelowItsThreshold() {
        let picture = self.picture([.init(title: "app/fall", threshold: 0.4, asksForLittle: true)])
        #expect(picture.lines(width: 80, height: 24, Self.plain).last == "1 app/fall  below 0.40 g  0 hits")
    }

    @Test func aFlatLineAPeakAThresholdAndAHit() throws {
        var picture = self.picture([.init(title: "app/shake", threshold: 2)])
        // Two seconds at 1 g, then a tenth up to 3 g, then 1 g again.
        for step in 0..<30 {
            let time = Timestamp(microseconds: Int64(step) * 100_000)
            picture.sample(at: time, 1)
            if step == 20 {
                picture.sample(at: time, 3)
                picture.hit(0, at: time)
            }
        }
        let lines = picture.lines(width: 80, height: 24, Self.plain)
        #expect(lines[0] == "accelerometer  norm  now 1.00 g")
        // The right edge is now: the peak is in the tenth column from there.
        let peak = 80 - 10
        let rows = lines[1..<21]
        func column(_ line: String) -> Character { line.count > peak ? Array(line)[peak] : " " }
        #expect(rows.filter { column($0) == "|" }.count > 5)
        let flat = try #require(rows.first { $0.contains("----") })
        #expect(flat.hasSuffix(String(repeating: "-", count: 20) + "|" + String(repeating: "-", count: 9)))
        let threshold = try #require(rows.first { $0.hasPrefix("   2.00 |") })
        #expect(threshold.contains("....") && column(threshold) == "|")
        let marks = try #require(lines.first { $0.hasSuffix("1") && $0.dropLast().allSatisfy { $0 == " " } })
        #expect(marks.count == peak + 1)
        #expect(lines.last == "1 app/shake  over 2.00 g  1 hit, last 0.9 s ago")
        #expect(lines[lines.count - 2].hasSuffix("now") && lines[lines.count - 2].contains("-5 s"))
    }

    // MARK: Dots

    /// The picture of a trace that is known: a second at 1 g, a second up to 4 g, then at 1 g again.
    private func ramp(_ strokes: ScopePicture.Strokes, rate: Int64) -> ScopePicture {
        var picture = self.picture([], strokes)
        for index in 0..<3 * rate {
            let seconds = Double(index) / Double(rate)
            let value = seconds < 1 || seconds >= 2 ? 1 : 1 + 3 * (seconds - 1)
            picture.sample(at: Timestamp(microseconds: index * 1_000_000 / rate), value)
        }
        return picture
    }

    @Test func dotsDrawAFinerLine() {
        let lines = self.ramp(.fine, rate: 100).lines(width: 40, height: 12, Self.plain)
        #expect(
            Array(lines[1...8]) == [
                "   4.37 │                    ⢠",
                "        │                  ⢀⡔⠁⡇",
                "        │                ⢀⡴⠋  ⡇",
                "        │               ⡴⠋    ⡇",
                "        │             ⣠⠎      ⡇",
                "        │           ⣠⠞⠁       ⡇",
                "        │ ⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠁         ⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉",
                "      0 │",
            ], "\(lines.joined(separator: "\n"))")
    }

    /// Without the characters for it, the same with strokes.
    @Test func strokesDrawTheSame() {
        let lines = self.ramp(.plain, rate: 100).lines(width: 40, height: 12, Self.plain)
        #expect(
            Array(lines[1...8]) == [
                "   4.37 |                    |",
                "        |                  |-|",
                "        |                |-|",
                "        |               -|",
                "        |             |-",
                "        |           |-|",
                "        | ----------|         ----------",
                "      0 |",
            ], "\(lines.joined(separator: "\n"))")
    }

    /// A slow sensor has a line too; where nothing came for more than a second, there is none.
    @Test func aSlowSensorHasALineAndAGapHasNone() {
        let slow = self.ramp(.fine, rate: 5).lines(width: 40, height: 12, Self.plain)
        #expect(!slow.contains { $0.contains("⣀ ⣀") } && slow.contains { $0.contains("⣀⣀⣀⣀⣀⣀") }, "\(slow)")
        var picture = self.picture([], .fine)
        for time in [0, 100_000, 1_200_000, 1_300_000] {
            picture.sample(at: Timestamp(microseconds: Int64(time)), 1)
        }
        let line = picture.lines(width: 40, height: 12, Self.plain).first {
            $0.contains("⠒") || $0.contains("⠉") || $0.contains("⠤")
        }
        #expect(line?.contains("         ") == true, "\(line ?? "nothing")")
        // Samples that got lost leave a hole, too.
        for time in [1_900_000, 2_000_000] {
            if time == 1_900_000 { picture.gap() }
            picture.sample(at: Timestamp(microseconds: Int64(time)), 1)
        }
        let holes = picture.lines(width: 40, height: 12, Self.plain).first {
            $0.contains("⠒") || $0.contains("⠉") || $0.contains("⠤")
        }
        #expect(holes?.dropFirst(9).split(separator: " ").count == 3, "\(holes ?? "nothing")")
    }

    @Test(arguments: [
        ("C.UTF-8", "xterm", true), ("de_DE.utf8@euro", "xterm", true), ("C", "xterm", false), ("", "xterm", false),
        ("de_DE.ISO-8859-1", "xterm", false), ("C.UTF-8", "linux", false),
    ])
    func dotsAreForTerminalsThatHaveThem(_ locale: String, _ terminal: String, _ isUnicode: Bool) {
        #expect(Terminal.isUnicode(locale: locale, terminal: terminal) == isUnicode)
    }

    /// A run makes no hit of a shake; it says what it held.
    @Test func whatARhythmHeldIsTold() throws {
        let sensor = SensorDescription(
            name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 16, rates: [50], source: "test",
            isSimulated: false)
        let shake = try DetectorCompiler.compile(
            DetectorRequest(name: "undo", options: ["preset": .text("shake")]), for: sensor)
        var session = ScopeSession(
            ScopeSignal(sensor), [shake], sensor, self.picture([.init(title: "app/undo", threshold: 1.5)]))
        let motion = try SyntheticMotion(script: "rest 4s; run 16s")
        var news: [ScopeSession.News] = []
        for index in 0..<200 {
            var (times, values): ([Int64], [Double]) = ([], [])
            for row in index * 5..<index * 5 + 5 {
                let time = Int64(row) * 20_000
                let value = try #require(motion.sample(at: TimeSpan(microseconds: time)))
                times.append(1_000_000 + time)
                values += [value.x, value.y, value.z]
            }
            news += session.take(first: UInt64(index) * 5, times: times.span, values: values.span)
        }
        #expect(news.count > 5 && news.allSatisfy { $0.peak == nil && $0.time > .seconds(4) }, "\(news)")
        let legend = session.picture.lines(width: 80, height: 24, Self.plain).last
        #expect(legend == "1 app/undo  over 1.50 g  0 hits, \(news.count) held by activity")
    }

    @Test func whatMeasuresSomethingElseHasNoLine() {
        var picture = self.picture([.init(title: "app/turn", threshold: nil)])
        picture.sample(at: .zero, 1)
        let lines = picture.lines(width: 80, height: 24, Self.plain)
        #expect(!lines.dropFirst().dropLast().contains { $0.contains("..") })
        #expect(lines.last == "1 app/turn  0 hits")
    }

    /// Values that nobody can draw, times that fall, and a gap of years.
    @Test func survivesWhateverComes() {
        var picture = self.picture([.init(title: "a", threshold: 1), .init(title: "b", threshold: 1e301)])
        for (time, value) in [
            (Int64(0), Double.nan), (1, .infinity), (2, -1e300), (3, 1e300), (4, -Double.greatestFiniteMagnitude),
            (900_000, .greatestFiniteMagnitude), (4_000_000_000_000, 0), (5, 1), (-7, 2),
        ] {
            picture.sample(at: Timestamp(microseconds: time), value)
            picture.hit(0, at: Timestamp(microseconds: time))
            #expect(picture.lines(width: 80, height: 24, Self.plain).count == 24)
        }
    }

    @Test func colorsOnlyWhereTheyBelong() {
        var picture = self.picture([.init(title: "a", threshold: 2)])
        picture.sample(at: .zero, 1)
        let colored = Terminal(isInteractive: true, hasColor: true)
        #expect(picture.lines(width: 80, height: 24, colored).contains { colored.shown($0).contains("\u{1B}[") })
        let plain = Terminal(isInteractive: true)
        #expect(!picture.lines(width: 80, height: 24, plain).contains { plain.shown($0).contains("\u{1B}[") })
    }
}
