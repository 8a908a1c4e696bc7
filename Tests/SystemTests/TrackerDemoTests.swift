import Foundation
import Motion
import TestSupport
import Testing

@testable import Traces

extension Surroundings.Demo {
    /// `jostle demo tracker`, the last requirement of which is met by real processes: as people read it and as machines do.
    @Test func theTrackerMeetsAllFiveRequirements() throws {
        try PrivateBus.with { bus in
            let (program, directory) = try self.start(["tracker"], bus)
            #expect(try program.waitForEnd(timeout: .seconds(60)) == .exited(0), "\(program.output)\(program.errors)")
            for requirement in [
                "by time when moving", "by distance when slow", "silent when still", "in the background",
                "after it was killed",
            ] {
                #expect(program.output.contains("\nyes  \(requirement): "), "\(program.output)")
            }
            #expect(
                program.output.contains(
                    "\nyes  after it was killed: its next report started it again, launch reason 'location'\n"))
            #expect(program.output.contains("  filter 50 m -> "))
            #expect(program.output.contains("\nSaved: against a report each second.\n"))
            try self.expectNothingLeft(program, directory)
        }
    }

    @Test func theTrackerForMachines() throws {
        var first: String?
        for _ in 0..<2 {
            try PrivateBus.with { bus in
                let (program, directory) = try self.start(["tracker", "--json"], bus)
                #expect(try program.waitForEnd(timeout: .seconds(60)) == .exited(0), "\(program.errors)")
                let lines = program.output.split(separator: "\n")
                #expect(lines.count { $0.hasPrefix("{\"requirement\":") && $0.contains("\"met\":true") } == 5)
                #expect(lines.count { $0.hasPrefix("{\"rule\":") } == 2)
                #expect(program.output == first ?? program.output)
                first = program.output
                #expect(try kinds(of: program.output, from: "demo") == [4, 5, 6, 7])
                try self.expectNothingLeft(program, directory)
            }
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func theTrackerInterruptedLeavesNothing(_ signal: Int32) throws {
        try PrivateBus.with { bus in
            let (program, directory) = try self.start(["tracker"], bus)
            // All that is judged in virtual time was said, and the rest is about to begin.
            _ = try program.waitForLine { $0.hasPrefix("  without it") }
            try stageIsThere(directory)
            try program.signal(signal)
            #expect(try program.waitForEnd() == .exited(1))
            #expect(program.errors.hasPrefix("jostle: stopped before the end\n"), "\(program.errors)")
            try self.expectNothingLeft(program, directory)
        }
    }

    /// Waits until the demo has made a directory of its own.
    private func stageIsThere(_ directory: String) throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try Tool.run(["ls", "-A", directory]).stdout.isEmpty { try #require(ContinuousClock.now < deadline) }
    }

    private func gpx(_ drive: SyntheticDrive) -> String {
        let points = drive.fixes.map {
            "<trkpt lat=\"\($0.position.latitude)\" lon=\"\($0.position.longitude)\">"
                + "<time>\(CalendarTime.text(1_700_000_000_000_000 + $0.time))</time><speed>\($0.speed ?? 0)</speed></trkpt>"
        }
        return "<gpx><trk><trkseg>\n\(points.joined(separator: "\n"))\n</trkseg></trk></gpx>\n"
    }

    @Test func theTrackerTakesJourneysOfOthers() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "tracker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func run(_ text: String) throws -> Tool.Result {
            let file = directory.appending(path: "way.gpx")
            try text.write(to: file, atomically: true, encoding: .utf8)
            return try Tool.run([Programs.path(of: "jostle"), "demo", "tracker", "--track", file.path])
        }
        let good = try run(self.gpx(SyntheticDrive(seed: 2)))
        #expect(good.status == 0 && good.stdout.contains("yes  by time when moving: "), "\(good)")
        #expect(good.stdout.contains("yes  after it was killed: "), "\(good)")
        let bad = try run("<gpx><trk>")
        #expect(bad.status == 2 && bad.stderr.contains("way.gpx:1:11: expected '</trk>'"), "\(bad)")
        let short = try run(
            "<gpx><trkpt lat='1' lon='2'><time>2026-11-22T06:30:15Z</time></trkpt></gpx>")
        #expect(short.status == 2 && short.stderr.contains("no journey"), "\(short)")
        #expect(try Tool.run([Programs.path(of: "jostle"), "demo", "tracker", "--track", "/nowhere.gpx"]).status == 2)
        // What fails a requirement fails the demo: a car that turns on the spot.
        let points = (0..<600).map { second in
            let (sine, cosine) = Mathematics.sineAndCosine(Double(second) * 0.5)
            return "<trkpt lat='\(10 + sine * 0.0002)' lon='\(10 + cosine * 0.0002)'>"
                + "<time>\(CalendarTime.text(Int64(second) * 1_000_000))</time></trkpt>"
        }
        let circles = try run("<gpx>\(points.joined())</gpx>")
        #expect(circles.status == 1, "\(circles)")
        #expect(circles.stderr.contains("not as it should be: by time when moving"))
    }
}
