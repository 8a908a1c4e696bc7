/// An option that a program or one of its commands takes, and its line in the help.
package struct CommandOption: Hashable, Sendable {
    /// Without the two hyphens.
    package let name: String
    /// What the help calls the value; `nil`: the option is a flag and takes none.
    package let placeholder: String?
    package let help: String
    /// Whether it may be given several times.
    package let repeats: Bool

    /// `--name`
    package static func flag(_ name: String, _ help: String) -> CommandOption {
        CommandOption(name: name, placeholder: nil, help: help, repeats: false)
    }

    /// `--name VALUE` or `--name=VALUE`
    package static func value(
        _ name: String, _ placeholder: String, _ help: String, repeats: Bool = false
    ) -> CommandOption {
        CommandOption(name: name, placeholder: placeholder, help: help, repeats: repeats)
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

    package init(_ name: String, _ help: String, _ presence: Presence = .required) {
        self.name = name
        self.help = help
        self.presence = presence
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

/// What a program, or one of its commands, accepts on its command line.
///
/// A table: the parser, the help text and the suggestions are all made from it. Options of a program are also those of its
/// commands. `--help` and `--version` go without saying.
package struct CommandSyntax: Sendable {
    package let name: String
    /// One sentence, for the help.
    package let summary: String
    package let options: [CommandOption]
    package let arguments: [CommandArgument]
    /// Not empty: the first argument names one of these.
    package let commands: [CommandSyntax]

    package init(
        _ name: String, _ summary: String, options: [CommandOption] = [], arguments: [CommandArgument] = []
    ) {
        self.name = name
        self.summary = summary
        self.options = options
        self.arguments = arguments
        self.commands = []
    }

    package init(_ name: String, _ summary: String, options: [CommandOption] = [], commands: [CommandSyntax]) {
        self.name = name
        self.summary = summary
        self.options = options
        self.arguments = []
        self.commands = commands
    }
}
