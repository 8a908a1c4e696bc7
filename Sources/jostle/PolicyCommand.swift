import Arbitration
import DBus
import DaemonSupport
import Detection
import Glibc
import Loop
import Motion
import PolicyFiles
import Protocol

/// `jostle policy`: what has to do with policy files and no broker.
enum PolicyCommand {
    static let syntax = CommandSyntax(
        "policy", "check policy files, or show what they say together",
        commands: [
            PolicyCheckCommand.syntax, WhatIfCommand.syntax, PolicyShowCommand.syntax, PolicyCoverageCommand.syntax,
        ])

    fileprivate static let paths = CommandArgument(
        "PATH", "files and directories (default: where the broker looks)", .list, naming: .path)
}

extension PolicySource {
    /// - Parameter paths: directories and files, of which those in the user's own directory count as the user's; nothing: what the
    ///   broker would read.
    init(_ paths: [String], naming: PolicyDirectories.Naming = .path) throws(CommandFailure) {
        var directories: [String] = []
        var own: [String] = []
        var files: [PolicyFile] = []
        for path in paths {
            let isOwn = path != "-" && Self.layer(of: Arguments.absolute(path)) == .user
            if !isDirectory(path) {
                files.append(PolicyFile(name: path, layer: isOwn ? .user : .system, bytes: try contents(of: path)))
            } else if isOwn {
                own.append(path)
            } else {
                directories.append(path)
            }
        }
        let outside =
            paths.isEmpty ? PolicyDirectories.outside(ofSystem: false, .policy, environmentValue) : nil
        self.init(
            directories, own: own, files: files, outside: outside, naming: naming, environment: environmentValue)
    }

    /// Whose it is what stands at a path.
    private static func layer(of path: String) -> PolicyLayer {
        func isIn(_ directory: String) -> Bool { "\(path)/".hasPrefix("\(directory)/") }
        if PolicyDirectories.user(environmentValue).map(isIn) == true { return .user }
        let isOutside = [true, false].contains { isSystems in
            PolicyDirectories.outside(ofSystem: isSystems, .policy, environmentValue).map(isIn) == true
        }
        return isOutside ? .outside : .system
    }

    /// Reads the files that a broker says it goes by; of those that cannot be read here there is a sentence.
    ///
    /// Whoever has the broker's name says which: it is no more than a broker reads, and nothing that waits for a writer.
    static func files(inForce paths: [String]) -> (files: [PolicyFile], unread: [String]) {
        var files: [PolicyFile] = []
        var unread: [String] = []
        var room = PolicyLimits.bytes
        for path in paths.prefix(PolicyLimits.files) {
            do throws(CommandFailure) {
                if let status = fileStatus(path), status.st_mode & S_IFMT != S_IFREG {
                    throw .usage("\(path): it is no file")
                }
                // What `contents` takes for standard input.
                let readable = path == "-" ? "./-" : path
                let bytes = try contents(of: readable, atMost: min(room, PolicyLimits.fileBytes))
                room -= bytes.count
                files.append(PolicyFile(name: path, layer: self.layer(of: path), bytes: bytes))
            } catch {
                unread.append("\(error.message): the broker goes by this file, and it is not checked")
            }
        }
        if paths.count > PolicyLimits.files {
            unread.append("the broker names \(paths.count) files: those after \(PolicyLimits.files) are not checked")
        }
        return (files, unread)
    }

    /// Reads everything anew, and says of which files there is nothing in it.
    func readTelling() -> PolicyReading {
        let (reading, _) = self.read()
        for finding in reading.findings where finding.check == .leftOut { complain("\(finding)") }
        return reading
    }

    /// The policy that a broker would go by.
    func policy() throws(CommandFailure) -> Policy {
        let reading = self.readTelling()
        if let policy = reading.inForce { return policy }
        throw .usage(reading.errors.first.map { "\($0)" } ?? "the policy cannot be read")
    }
}

/// `jostle policy check`: says what is wrong with policy files, and where.
struct PolicyCheckCommand {
    private static let strict = CommandOption.flag("strict", "take warnings for errors")
    private static let apps = CommandOption.flag(
        "apps",
        "hold it against the apps there are: ask the broker and the bus; without a PATH check the files that the broker goes by"
    )
    private static let appFiles = CommandOption.value(
        "app-files", "DIR", "check the app files here, too", naming: .directory, repeats: true)

    static let syntax = CommandSyntax(
        "check", "say what is wrong with policy files, and where", reaching: .broker,
        options: [strict, apps, appFiles, CommonOption.json], arguments: [PolicyCommand.paths],
        action: {
            if $0.arguments.has(CommonOption.bus), !$0.arguments.has(apps) {
                throw UsageProblem("policy check: --bus goes with --apps: without it nobody is asked")
            }
            try PolicyCheckCommand(
                paths: $0.arguments.positionals, appFiles: $0.arguments.values(of: appFiles),
                isStrict: $0.arguments.has(strict), isJSON: $0.isJSON, bus: $0.arguments.has(apps) ? $0.bus : nil,
                terminal: $0.terminal, loop: $0.loop
            ).run()
        })

    var paths: [String]
    /// Directories of app files to check, too; none: app files are not looked at.
    var appFiles: [String]
    /// Warnings count as errors.
    var isStrict: Bool
    var isJSON: Bool
    /// The bus whose apps the policy is held against, if it is.
    var bus: BusAddress?
    let terminal: Terminal
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let broker: Service? = if let bus = self.bus { try Service.broker(on: bus, self.loop) } else { nil }
        let (source, unread) =
            if let broker, self.paths.isEmpty { try self.inForce(at: broker) } else {
                (try PolicySource(self.paths), 0)
            }
        let reading = source.read().reading
        var installed: [PolicyLinter.InstalledApp]?
        if let broker, let policy = reading.inForce { installed = try InstalledApps(of: broker).find(for: policy) }
        let inApps = self.appFiles.isEmpty ? [] : AppSource(self.appFiles).readAll().findings
        let findings = inApps + PolicyLinter.check(reading, installed: installed)
        for finding in findings { self.terminal.print(self.isJSON ? finding.json : "\(finding)") }
        let errors = findings.filter { $0.severity == .error }.count
        let warnings = findings.filter { $0.severity == .warning }.count + unread
        guard errors == 0, !self.isStrict || warnings == 0 else {
            throw CommandFailure(.no, Self.count(errors, "error") + ", " + Self.count(warnings, "warning"))
        }
    }

    /// The files that a broker goes by, and how many of them cannot be read here: each is told, and the others are checked.
    private func inForce(at broker: Service) throws(CommandFailure) -> (source: PolicySource, unread: Int) {
        let paths = try broker.properties(Path.broker, InterfaceName.broker).lines("PolicyFiles")
        let (files, unread) = PolicySource.files(inForce: paths)
        unread.forEach { complain($0) }
        // Without any it would be the built-in policy that is checked.
        guard paths.isEmpty || !files.isEmpty else {
            throw CommandFailure(.no, "no policy file of the broker can be read here; give their paths")
        }
        return (PolicySource(only: files), unread.count)
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

/// `jostle policy show`: what is in force, with the file and line of each key.
struct PolicyShowCommand {
    static let syntax = CommandSyntax(
        "show", "show the policy as all files together make it, with file and line", reaching: .nobody,
        options: [CommonOption.json],
        arguments: [PolicyCommand.paths],
        action: {
            try PolicyShowCommand(paths: $0.arguments.positionals, isJSON: $0.isJSON, terminal: $0.terminal).run()
        })

    var paths: [String]
    var isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let reading = try PolicySource(self.paths).readTelling()
        if let first = reading.errors.first { throw CommandFailure(.no, "\(first)") }
        if self.isJSON {
            for entry in PolicyText.entries(reading) { self.terminal.print(entry.json) }
            return
        }
        PolicyText.show(reading).split(separator: "\n", omittingEmptySubsequences: false).dropLast().forEach {
            self.terminal.print(String($0))
        }
    }
}

/// `jostle policy coverage`: what becomes of every app's hits in every state.
struct PolicyCoverageCommand {
    private static let app = CommandOption.value(
        "app", "ID", "of this app (default: those that the policy names, and any other)", naming: .app, repeats: true)
    private static let markdown = CommandOption.flag("markdown", "a table for a page")

    static let syntax = CommandSyntax(
        "coverage", "show which app hears what in which state", reaching: .nobody,
        options: [app, CommonOption.json, markdown, ReportFile.option],
        arguments: [PolicyCommand.paths],
        action: {
            if $0.isJSON, $0.arguments.has(markdown) {
                throw UsageProblem("policy coverage: give --json or --markdown, not both")
            }
            try PolicyCoverageCommand(
                paths: $0.arguments.positionals, apps: $0.arguments.values(of: app), isJSON: $0.isJSON,
                isMarkdown: $0.arguments.has(markdown),
                report: ReportFile.path($0.arguments, beside: $0.arguments.positionals), terminal: $0.terminal
            ).run()
        })

    var paths: [String]
    var apps: [String]
    var isJSON: Bool
    var isMarkdown: Bool
    /// Where a page is written.
    var report: String?
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let policy = try PolicySource(self.paths).policy()
        let coverage = PolicyCoverage(
            of: policy, apps: self.apps.map { AppID($0) }, presets: PresetCatalogue.all.map(\.name))
        if let report { try ReportFile.write(CoverageReport(coverage, of: self.paths).html, to: report) }
        if self.isJSON {
            for table in coverage.tables { for line in table.json { self.terminal.print(line) } }
            return
        }
        let text = self.isMarkdown ? coverage.markdown : coverage.text(width: min(80, self.terminal.width))
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().forEach {
            self.terminal.print(String($0))
        }
    }
}

extension PolicyCoverage.Table {
    /// One object for each cell.
    fileprivate var json: [String] {
        self.rows.flatMap { row in
            zip(self.columns, row.cells).map { presets, cell in
                var line = JSONLine()
                line.add("apps", self.apps)
                line.add("state", row.situation.state.name)
                if let isLocked = row.situation.isLocked {
                    line.add("locked", isLocked)
                } else {
                    line.addNull("locked")
                }
                line.add("right", row.situation.right.name)
                line.add("presets", presets)
                line.add("outcome", cell.text)
                line.add("outcomes", cell.words)
                line.add("rules", cell.rules)
                return line.text
            }
        }
    }
}

extension PolicyText.Entry {
    fileprivate var json: String {
        var line = JSONLine()
        line.add("section", self.section)
        line.add("key", self.key)
        line.add("value", self.value)
        line.add(
            "places",
            self.places.map { place in
                var object = JSONLine()
                object.add("file", place.file)
                object.add("line", place.line)
                object.add("column", place.column)
                return object
            })
        line.add("user", self.isUsers)
        return line.text
    }
}

extension Finding {
    var json: String {
        var line = JSONLine()
        line.add("file", self.place.file)
        line.add("line", self.place.line)
        line.add("column", self.place.column)
        line.add("severity", self.severity.rawValue)
        line.add("id", self.check.rawValue)
        line.add("message", self.message)
        line.add("advice", self.advice)
        return line.text
    }
}
