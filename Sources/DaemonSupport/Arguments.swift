import Glibc

/// What a command line said, checked against its syntax.
package struct Arguments: Equatable, Sendable {
    /// The names of the command and its subcommands; empty for a program that has none.
    package internal(set) var command: [String] = []
    /// The arguments told by their place, in order.
    package internal(set) var positionals: [String] = []
    /// What followed `--`, where that is a command line of its own.
    package internal(set) var trailing: [String] = []
    /// The values of each option that was given; a flag's is empty.
    var values: [String: [String]] = [:]

    /// Whether an option was given.
    package func has(_ declaration: some OptionDeclaration) -> Bool {
        self.values[declaration.option.name] != nil
    }

    /// The value of an option, the last one if it may repeat; `nil` when it was not given.
    package func value(of option: CommandOption) -> String? {
        self.values[option.name]?.last
    }

    /// All values of an option, in order.
    package func values(of option: CommandOption) -> [String] {
        self.values[option.name] ?? []
    }

    /// The directories that an option names, in order: all have to be there.
    package func directories(of option: CommandOption) throws(UsageProblem) -> [String] {
        var paths: [String] = []
        for path in self.values(of: option) {
            var status = stat()
            // SAFETY: the path is a NUL-terminated string for the time of the call, and the structure is ours.
            guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw UsageProblem("option '--\(option.name)': there is no directory '\(clean(path))'")
            }
            paths.append(Self.absolute(path))
        }
        return paths
    }

    /// A path that means the same to those who are told of it and stand elsewhere.
    package static func absolute(_ path: String) -> String {
        // SAFETY: called without a buffer it gives one, which is ours to free, or NULL.
        guard !path.hasPrefix("/"), let raw = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(raw) }
        let directory = unsafe String(cString: raw)
        let rest = path == "." ? "" : path.hasPrefix("./") ? String(path.dropFirst(2)) : path
        return (directory == "/" ? "" : directory) + (rest.isEmpty ? "" : "/\(rest)")
    }

    /// The value of an option as its declaration reads it.
    package func value<Value>(of declaration: TypedOption<Value>) throws(UsageProblem) -> Value? {
        try self.value(of: declaration.option, expected: declaration.expected, declaration.parse)
    }

    /// The value of an option as `parse` reads it; `expected` says what it should have been, as in `a rate in Hz`.
    package func value<Value>(
        of option: CommandOption, expected: String, _ parse: (String) -> Value?
    ) throws(UsageProblem) -> Value? {
        guard let text = self.value(of: option) else { return nil }
        guard let value = parse(text) else {
            throw UsageProblem("option '--\(option.name)' needs \(expected), not '\(clean(text))'")
        }
        return value
    }
}

/// A command line that makes no sense, in one line that helps.
package struct UsageProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { self.message }
}
