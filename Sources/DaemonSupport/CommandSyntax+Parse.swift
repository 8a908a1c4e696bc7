import Glibc
import Loop
import Motion

extension CommandSyntax {
    /// What a command line asks for.
    package enum Request: Equatable, Sendable {
        case run(Arguments)
        /// `--help` or `--version`: print this and end.
        case show(String)
    }

    /// Reads a command line, without the program's own name.
    ///
    /// Strict: options are spelt out, a value that begins with two hyphens is joined to its option by `=`, nothing is
    /// given twice that does not repeat, and nothing is left over. `--` ends the options, and where a command line of its own
    /// follows it, the words.
    package func parse(_ words: [String]) throws(UsageProblem) -> Request {
        var parser = Parser(self, words)
        return try parser.run()
    }

    /// Reads this process's command line. Answers `--help` and `--version` and complains itself, and ends the process.
    ///
    /// - Parameter naming: what shells are offered that no table holds.
    package func parseOrExit(
        _ words: [String] = Array(CommandLine.arguments.dropFirst()), naming: CompletionNaming = { _, _, _ in [] }
    ) -> Arguments {
        // Swift reads the command line from there. Where it cannot there is none, not even the program's name.
        guard !CommandLine.arguments.isEmpty else {
            Log(program: self.name, style: .plain).error(
                "the command line cannot be read from /proc/self/cmdline; see whether /proc is mounted and may be read")
            ExitCode.no.exit()
        }
        if words.first == Self.completing { self.show(self.completion(of: Array(words.dropFirst()), naming: naming)) }
        do throws(UsageProblem) {
            switch try self.parse(words) {
            case .run(let arguments): return arguments
            case .show(let text): self.show(text)
            }
        } catch {
            self.exit(with: error)
        }
    }

    private func show(_ text: String) -> Never {
        do throws(SystemError) {
            try writeAll(text, to: STDOUT_FILENO)
        } catch {
            // Whoever has gone wants no more, and nothing went wrong.
            if error.code == EPIPE { ExitCode.done.exit() }
            Log(program: self.name, style: .plain).error("cannot write the output: \(error)")
            ExitCode.no.exit()
        }
        ExitCode.done.exit()
    }

    /// Where a command line stops that these words begin; `nil`: it is wrong already, or is to show something.
    func place(after words: [String]) -> CommandPlace? {
        var parser = Parser(self, words)
        return parser.place()
    }

    /// Says on standard error what is wrong with the command line, and ends the process.
    package func exit(with problem: UsageProblem) -> Never {
        Log(program: self.name, style: .plain).error(problem.message)
        ExitCode.usage.exit()
    }
}

/// `text` from the command line as a message may show it.
func clean(_ text: some StringProtocol) -> String { printable(text) }

/// A place in a command line: what the word that stands there can be.
struct CommandPlace {
    /// What was said before it.
    let arguments: Arguments
    /// It can name one of these.
    var commands: [CommandSyntax] = []
    /// It can be one of these.
    var options: [CommandOption] = []
    /// What it names otherwise; `nil`: nothing else can stand there.
    var word: CommandWord?
}

/// The state of reading one command line.
private struct Parser {
    private let program: String
    private var syntax: CommandSyntax
    /// The options of the commands above the present one.
    private var inherited: [CommandOption] = []
    private var arguments = Arguments()
    private var words: [String]
    /// The word that is read next.
    private var index = 0
    private var takesOptions = true
    /// The option whose values the words ended in, and could go on with.
    private var awaited: CommandOption?
    /// A command line of its own has begun.
    private var hasTrailing = false

    init(_ syntax: CommandSyntax, _ words: [String]) {
        self.program = syntax.name
        self.syntax = syntax
        self.words = words
    }

    mutating func run() throws(UsageProblem) -> CommandSyntax.Request {
        while let word = self.next() {
            if let text = try self.take(word) { return .show(text) }
        }
        return .run(try self.finish())
    }

    mutating func place() -> CommandPlace? {
        do throws(UsageProblem) {
            while let word = self.next() {
                guard try self.take(word) != nil else { continue }
                // Of whose commands help is wanted; what else shows something is complete.
                return word == "help" ? CommandPlace(arguments: self.arguments, commands: self.syntax.commands) : nil
            }
        } catch {
            guard self.awaited?.takesList == false else { return nil }
        }
        var place = CommandPlace(arguments: self.arguments)
        if self.hasTrailing {
            place.word = self.arguments.trailing.isEmpty ? self.syntax.trailing?.word : .path
            return place
        }
        if let awaited {
            place.word = awaited.word
            guard awaited.takesList else { return place }
        }
        if self.takesOptions {
            place.options = (self.syntax.options + self.inherited).filter {
                $0.repeats || self.arguments.values[$0.name] == nil
            }
            place.options += CommandSyntax.standardOptions
        }
        place.commands = self.syntax.commands
        let arguments = self.syntax.arguments
        let last = arguments.last.flatMap { $0.isList ? $0 : nil }
        let count = self.arguments.positionals.count
        if place.word == nil { place.word = (count < arguments.count ? arguments[count] : last)?.word }
        return place
    }

    /// Takes a word, and those that belong to it.
    ///
    /// - Returns: what is to be shown in the place of all else.
    private mutating func take(_ word: String) throws(UsageProblem) -> String? {
        if self.takesOptions, word == "--" {
            self.takesOptions = false
        } else if self.takesOptions, word == "--help" || word == "-h" {
            return self.help
        } else if self.takesOptions, word == "--version" {
            return "\(self.program) \(Version.text)\n"
        } else if self.takesOptions, word.hasPrefix("-"), word != "-" {
            try self.takeOption(word)
        } else if self.syntax.commands.isEmpty {
            try self.takeArgument(word)
        } else if word == "help", !self.syntax.commands.contains(where: { $0.name == "help" }) {
            while let name = self.next() { try self.enterCommand(name) }
            return self.help
        } else {
            try self.enterCommand(word)
        }
        return nil
    }

    private mutating func next() -> String? {
        guard self.index < self.words.count else { return nil }
        self.index += 1
        return self.words[self.index - 1]
    }

    private var help: String {
        let path = [self.program] + self.arguments.command
        return self.syntax.help(path: Array(path.dropLast()), inherited: self.inherited)
    }

    /// How to ask for help on what is being read.
    private var seeHelp: String {
        "see '\(([self.program] + self.arguments.command).joined(separator: " ")) --help'"
    }

    private mutating func enterCommand(_ name: String) throws(UsageProblem) {
        guard let command = self.syntax.commands.first(where: { $0.name == name }) else {
            let hint = self.hint(name, self.syntax.commands.map(\.name))
            throw UsageProblem("unknown command '\(clean(name))', \(hint)")
        }
        let above = self.syntax.options + self.inherited
        self.inherited = above.filter { !command.refusedOptions.contains($0.name) }
        self.syntax = command
        self.arguments.command.append(name)
        if let given = above.first(where: { self.isRefused($0.name) && self.arguments.values[$0.name] != nil }) {
            throw self.noEffect(of: given.name)
        }
        // Taken off before anything can take its words for its own.
        guard command.trailing != nil, self.takesOptions, let end = self.words[self.index...].firstIndex(of: "--")
        else { return }
        self.hasTrailing = true
        self.arguments.trailing = Array(self.words[(end + 1)...])
        self.words.removeSubrange(end...)
    }

    private mutating func takeArgument(_ word: String) throws(UsageProblem) {
        let isRoom = self.arguments.positionals.count < self.syntax.arguments.count
        guard isRoom || self.syntax.arguments.last?.isList == true else {
            throw UsageProblem("unexpected argument '\(clean(word))', \(self.seeHelp)")
        }
        self.arguments.positionals.append(word)
    }

    private mutating func takeOption(_ word: String) throws(UsageProblem) {
        let equals = word.firstIndex(of: "=")
        let known = self.syntax.options + self.inherited
        var spelling = String(word[..<(equals ?? word.endIndex)])
        // What every other program calls so.
        if spelling == "-o", known.contains(where: { $0.name == "output" }) { spelling = "--output" }
        guard spelling != "--help", spelling != "--version" else {
            throw UsageProblem("option '\(spelling)' takes no value")
        }
        guard let option = known.first(where: { "--\($0.name)" == spelling }) else {
            if self.isRefused(String(spelling.dropFirst(2))) { throw self.noEffect(of: String(spelling.dropFirst(2))) }
            let hint = self.hint(spelling, (known + CommandSyntax.standardOptions).map { "--\($0.name)" })
            throw UsageProblem("unknown option '\(clean(spelling))', \(hint)")
        }
        var values = equals.map { [String(word[word.index(after: $0)...])] } ?? []
        if option.placeholder == nil {
            guard values.isEmpty else { throw UsageProblem("option '\(spelling)' takes no value") }
        } else if values.isEmpty {
            values = try self.takeValues(of: option)
        }
        guard option.repeats || self.arguments.values[option.name] == nil else {
            throw UsageProblem("option '\(spelling)' was given twice")
        }
        self.arguments.values[option.name, default: []] += values
    }

    private func isRefused(_ name: String) -> Bool { self.syntax.refusedOptions.contains(name) }

    private func noEffect(of name: String) -> UsageProblem {
        UsageProblem("option '--\(name)' has no effect on '\(self.arguments.command.joined(separator: " "))'")
    }

    /// The words after an option that are its values.
    private mutating func takeValues(of option: CommandOption) throws(UsageProblem) -> [String] {
        let rest = self.words[self.index...]
        let values = rest.prefix(option.takesList ? rest.count : 1).prefix { !$0.hasPrefix("--") }
        if rest.isEmpty || option.takesList && values.count == rest.count { self.awaited = option }
        guard option.takesList || !values.isEmpty else {
            // More likely a forgotten value than one that begins so.
            let hint = rest.isEmpty ? "" : "; one that begins with '--' is written '--\(option.name)=--...'"
            throw UsageProblem("option '\(option.usage)' needs a value\(hint)")
        }
        self.index += values.count
        return Array(values)
    }

    private func finish() throws(UsageProblem) -> Arguments {
        guard self.syntax.commands.isEmpty else { throw UsageProblem("a command is missing, \(self.seeHelp)") }
        let missing = self.syntax.arguments.dropFirst(self.arguments.positionals.count).first(where: \.isRequired)
        if let missing { throw UsageProblem("argument \(missing.name) is missing, \(self.seeHelp)") }
        return self.arguments
    }

    /// The word that was meant, if one is near enough or the only one that begins so; else where the words stand.
    private func hint(_ word: String, _ words: [String]) -> String {
        let longer = words.filter { $0.hasPrefix(word) && word.count > 2 }
        let near = longer.count == 1 ? longer[0] : Suggestion.nearest(to: word, among: words)
        return near.map { "did you mean '\($0)'?" } ?? self.seeHelp
    }
}
