import Loop

/// What a word of a command line names: for a shell that completes it, and for a manual.
package enum CommandWord: Hashable, Sendable {
    /// Nothing that could be listed.
    case text
    /// One of these, or what the help says besides.
    case oneOf([String])
    case file
    case directory
    /// A file or a directory.
    case path
    /// An app id, or a unique name.
    case app
    case sensor
    case preset
    /// A preset, and its options after commas.
    case detector
    /// A task that an app handed in.
    case task
    /// A program that can be run, and its own words.
    case program
}

/// An option that a program or one of its commands takes, and its line in the help.
package struct CommandOption: Hashable, Sendable {
    /// Without the two hyphens.
    package let name: String
    /// What the help calls the value; `nil`: the option is a flag and takes none.
    package let placeholder: String?
    package let help: String
    /// What the value names.
    package let word: CommandWord
    /// Whether it may be given several times.
    package let repeats: Bool
    /// Whether all words up to the next option are values of it: a shell turns `shake*.csv` into several.
    package let takesList: Bool

    /// `--name`
    package static func flag(_ name: String, _ help: String) -> CommandOption {
        CommandOption(name: name, placeholder: nil, help: help, word: .text, repeats: false, takesList: false)
    }

    /// `--name VALUE` or `--name=VALUE`
    package static func value(
        _ name: String, _ placeholder: String, _ help: String, naming word: CommandWord = .text, repeats: Bool = false
    ) -> CommandOption {
        CommandOption(
            name: name, placeholder: placeholder, help: help, word: word, repeats: repeats, takesList: false)
    }

    /// `--name VALUE VALUE` or `--name=VALUE`, as often as wanted.
    package static func list(
        _ name: String, _ placeholder: String, _ help: String, naming word: CommandWord = .text
    ) -> CommandOption {
        CommandOption(name: name, placeholder: placeholder, help: help, word: word, repeats: true, takesList: true)
    }

    /// How the help spells it.
    var usage: String { self.placeholder.map { "--\(self.name) \($0)" } ?? "--\(self.name)" }
}

/// An argument that is told by its place.
package struct CommandArgument: Hashable, Sendable {
    package enum Presence: Hashable, Sendable {
        case required
        case optional
        /// Any number, only as the last.
        case list
        /// At least one, only as the last.
        case nonEmptyList
    }

    /// What the help calls it: `FILE`.
    package let name: String
    package let help: String
    package let presence: Presence
    /// What it names.
    package let word: CommandWord

    package init(
        _ name: String, _ help: String, _ presence: Presence = .required, naming word: CommandWord = .text
    ) {
        self.name = name
        self.help = help
        self.presence = presence
        self.word = word
    }

    /// How the help spells it.
    var usage: String {
        switch self.presence {
        case .required: self.name
        case .optional: "[\(self.name)]"
        case .list: "[\(self.name)]..."
        case .nonEmptyList: "\(self.name)..."
        }
    }

    var isList: Bool { self.presence == .list || self.presence == .nonEmptyList }
    var isRequired: Bool { self.presence == .required || self.presence == .nonEmptyList }
}

/// A part of the help that is neither options nor arguments, such as the variables that are set for a command.
package struct HelpTable: Hashable, Sendable {
    package struct Row: Hashable, Sendable {
        package let name: String
        package let help: String

        package init(_ name: String, _ help: String) {
            self.name = name
            self.help = help
        }
    }

    package let title: String
    package let rows: [Row]

    package init(_ title: String, _ rows: [Row]) {
        self.title = title
        self.rows = rows
    }
}

/// What a program, or one of its commands, accepts on its command line, and what it does with it.
///
/// A table: the parser, the help text and the suggestions are all made from it, and what completes or explains command lines
/// finds all of it here. Options of a program are also those of its commands, but for those that would have no effect there.
/// `--help` and `--version` go without saying.
package struct CommandSyntax: Sendable {
    package typealias Action = @Sendable (Arguments) throws -> Void

    package let name: String
    /// One sentence, for the help.
    package let summary: String
    package let options: [CommandOption]
    package let arguments: [CommandArgument]
    /// What follows the first `--`, if that is a command line of its own; the summary says so.
    package let trailing: CommandArgument?
    /// Not empty: the first argument names one of these.
    package let commands: [CommandSyntax]
    /// Names of options of what stands above it that have no effect here, and are refused.
    package let refusedOptions: Set<String>
    /// What the help tells besides.
    package let notes: [HelpTable]
    /// How it can end.
    package let exits: [ExitStatus]
    /// What the command does; `nil` for those that only have others below them, and where `main` does it.
    package let action: Action?

    package init(
        _ name: String, _ summary: String, options: [any OptionDeclaration] = [], arguments: [CommandArgument] = [],
        trailing: CommandArgument? = nil, refusing refused: [any OptionDeclaration] = [], notes: [HelpTable] = [],
        exits: [ExitStatus] = ExitStatus.daemon, action: Action? = nil
    ) {
        self.name = name
        self.summary = summary
        self.options = options.map(\.option)
        self.arguments = arguments
        self.trailing = trailing
        self.commands = []
        self.refusedOptions = Set(refused.map(\.option.name))
        self.notes = notes
        self.exits = exits
        self.action = action
    }

    package init(
        _ name: String, _ summary: String, options: [any OptionDeclaration] = [], commands: [CommandSyntax]
    ) {
        self.name = name
        self.summary = summary
        self.options = options.map(\.option)
        self.arguments = []
        self.trailing = nil
        self.commands = commands
        self.refusedOptions = []
        self.notes = []
        let codes = Set(commands.flatMap(\.exits).map(\.code))
        self.exits = ExitCode.allCases.filter(codes.contains).map { ExitStatus($0) }
        self.action = nil
    }

    /// Does what the command does that these arguments are for.
    package func perform(_ arguments: Arguments) throws {
        let command = arguments.command.reduce(self) { syntax, name in
            syntax.commands.first { $0.name == name } ?? syntax
        }
        guard let action = command.action else { invariantFailure("the command '\(command.name)' does nothing") }
        try action(arguments)
    }
}
