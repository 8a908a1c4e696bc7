import TestSupport
import Testing

extension Surroundings.Demo {
    /// `jostle demo background` between real processes, as people read it and as machines do.
    @Test func theBackgroundIsAsTheArticleReportsIt() throws {
        try PrivateBus.with { bus in
            let (program, directory) = try self.start(["background"], bus)
            #expect(try program.waitForEnd(timeout: .seconds(120)) == .exited(0), "\(program.output)\(program.errors)")
            let rows = program.output.split(separator: "\n").map { line in
                line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
            }
            let all = [
                ["foreground", "hard"], ["own,", "system"], ["own,", "system"], ["own,", "system"], ["own,", "system"],
            ]
            #expect(rows.contains(all.flatMap { $0 } + ["system"]), "\(program.output)")
            for place in [["background"], ["locked"], ["background,", "locked"]] {
                let front = place == ["background"] ? "system" : "-"
                #expect(rows.contains(place + ["gentle", "-", "-", "own", "-", front]), "\(program.output)")
                #expect(rows.contains(place + ["hard", "-", "-", "own", "own", front]), "\(program.output)")
            }
            #expect(program.output.contains("\nAs the article reports it: "))
            try self.expectNothingLeft(program, directory)
        }
    }

    @Test func theBackgroundForMachines() throws {
        try PrivateBus.with { bus in
            let (program, directory) = try self.start(["background", "--json"], bus)
            #expect(try program.waitForEnd(timeout: .seconds(120)) == .exited(0), "\(program.output)\(program.errors)")
            let lines = program.output.split(separator: "\n")
            #expect(lines.count == 4 * 2 * 9)
            #expect(try kinds(of: program.output, from: "demo") == [1])
            #expect(
                lines.last
                    == "{\"place\":\"background, locked\",\"shake\":\"hard\",\"app\":\"org.jostle.Demo.Front\",\"right\":false,\"detector\":\"system.shake\",\"received\":false}"
            )
            try self.expectNothingLeft(program, directory)
        }
    }
}
