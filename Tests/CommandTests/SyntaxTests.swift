import DaemonSupport
import TestSupport
import Testing

@testable import jostle

/// The tables of all commands of `jostle`: what parser, help and completion rely on.
@Suite struct SyntaxTests {
    private struct Entry {
        let path: [String]
        let command: CommandSyntax
        /// Its own, and those of what stands above it.
        let options: [CommandOption]
    }

    private static func entries(
        _ command: CommandSyntax, below path: [String] = [], inherited: [CommandOption] = []
    ) -> [Entry] {
        let entry = Entry(path: path + [command.name], command: command, options: command.options + inherited)
        return [entry] + command.commands.flatMap { self.entries($0, below: entry.path, inherited: entry.options) }
    }

    private let entries = Self.entries(Main.syntax)

    @Test func aCommandDoesSomethingOrHasOthersBelowIt() {
        for entry in self.entries {
            #expect((entry.command.action == nil) == !entry.command.commands.isEmpty, "\(entry.path)")
        }
    }

    @Test func aNameStandsForOneThing() {
        for entry in self.entries {
            let options = entry.options.map(\.name) + ["help", "version"]
            #expect(Set(options).count == options.count, "\(entry.path): \(options)")
            let commands = entry.command.commands.map(\.name) + ["help"]
            #expect(Set(commands).count == commands.count, "\(entry.path): \(commands)")
        }
    }

    @Test func onlyTheLastArgumentIsAListOrMayBeMissing() {
        for entry in self.entries {
            for argument in entry.command.arguments.dropLast() {
                #expect(argument.presence == .required, "\(entry.path): \(argument.name)")
            }
        }
    }

    @Test func everythingIsExplained() {
        for entry in self.entries {
            let arguments = entry.command.arguments + (entry.command.trailing.map { [$0] } ?? [])
            let texts = [entry.command.summary] + entry.options.map(\.help) + arguments.map(\.help)
            #expect(texts.allSatisfy { !$0.isEmpty && !$0.contains("\n") }, "\(entry.path): \(texts)")
        }
    }

    /// Or a shell could not complete them.
    @Test func whatIsCalledAFileOrDirectoryNamesOne() {
        for entry in self.entries {
            let values = entry.options.compactMap { option in option.placeholder.map { ($0, option.word) } }
            for (name, word) in values + entry.command.arguments.map({ ($0.name, $0.word) }) {
                switch name {
                case "FILE", "TRACE": #expect(word == .file, "\(entry.path): \(name)")
                case "DIR": #expect(word == .directory, "\(entry.path): \(name)")
                case "PATH": #expect(word == .path, "\(entry.path): \(name)")
                default: break
                }
            }
        }
    }

    @Test func everyEndingIsToldInOrder() {
        for entry in self.entries {
            let codes = entry.command.exits.map(\.code.rawValue)
            #expect(codes.starts(with: [0, 1, 2]) && codes == Set(codes).sorted(), "\(entry.path): \(codes)")
        }
    }

    // MARK: Help

    private static func paths(_ command: CommandSyntax) -> [[String]] {
        command.commands.flatMap { command in [[command.name]] + self.paths(command).map { [command.name] + $0 } }
    }

    /// Each command says itself how it ends, and only what it takes.
    @Test func saysHowACommandEndsAndWhatItTakes() throws {
        let paths = [[]] + Self.paths(Main.syntax)
        #expect(paths.count > 30)
        for path in paths {
            let result = try Tool.run([Programs.path(of: "jostle")] + path + ["--help"])
            #expect(result.status == 0 && result.stderr.isEmpty, "\(path): \(result)")
            var command = Main.syntax
            for name in path { command = try #require(command.commands.first { $0.name == name }) }
            let parts = result.stdout.split(separator: "\nExit status:\n", omittingEmptySubsequences: false)
            try #require(parts.count == 2, "\(path): \(result.stdout)")
            let codes = parts[1].split(separator: "\n").filter { !$0.hasPrefix("   ") }
                .compactMap { $0.split(separator: " ").first.flatMap { Int32($0) } }
            #expect(codes == command.exits.map(\.code.rawValue), "\(path): \(result.stdout)")
            for refused in command.refusedOptions { #expect(!result.stdout.contains("  --\(refused) ")) }
            #expect(result.stdout.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(path)")
            // That is for shells.
            #expect(!result.stdout.contains("--complete"))
        }
    }

    // MARK: Lines for programs

    private static func withLines(_ command: CommandSyntax, below: [String] = []) -> [String] {
        let isTold = command.options.contains { $0.name == "json" }
        return (isTold ? [(below + [command.name]).joined(separator: " ")] : [])
            + command.commands.flatMap { self.withLines($0, below: below + [command.name]) }
    }

    @Test func eachCommandWithLinesForProgramsIsChecked() throws {
        let told = Main.syntax.commands.flatMap { Self.withLines($0) }
        let known = try Tool.run(["python3", Programs.source("Tests/Scripts/json-types.py")]).stdout
        #expect(told.sorted() == known.split(separator: "\n").map(String.init).sorted())
    }
}
