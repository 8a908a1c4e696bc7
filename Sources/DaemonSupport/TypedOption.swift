import DBus
package import Motion

/// What a table of options lists: an option of text, or one whose value is read as something.
package protocol OptionDeclaration: Sendable {
    var option: CommandOption { get }
}

extension CommandOption: OptionDeclaration {
    package var option: CommandOption { self }
}

/// An option with what its value is, and how that is read.
package struct TypedOption<Value: Sendable>: OptionDeclaration {
    package let option: CommandOption
    /// What the value should be, as in `a rate, such as 50Hz`.
    let expected: String
    let parse: @Sendable (String) -> Value?

    package init(
        _ name: String, _ placeholder: String, _ help: String, naming word: CommandWord = .text, expected: String,
        _ parse: @escaping @Sendable (String) -> Value?
    ) {
        self.option = .value(name, placeholder, help, naming: word)
        self.expected = expected
        self.parse = parse
    }
}

extension TypedOption<BusAddress> {
    /// `--name BUS`
    package static func bus(_ name: String, _ help: String) -> TypedOption {
        TypedOption(
            name, "BUS", help, naming: .oneOf(["session", "system"]), expected: "session, system or a bus address"
        ) { BusAddress($0) }
    }
}

extension TypedOption<Double> {
    /// A number of this dimension above zero, with its unit or without.
    package static func quantity(
        _ name: String, _ placeholder: String, _ help: String, _ dimension: Dimension, expected: String
    ) -> TypedOption {
        TypedOption(name, placeholder, help, expected: expected) { positive($0, dimension) }
    }
}

extension TypedOption<TimeSpan> {
    /// A time above zero, in seconds unless it says otherwise.
    package static func time(
        _ name: String, _ placeholder: String, _ help: String, expected: String,
        in range: ClosedRange<TimeSpan>? = nil
    ) -> TypedOption {
        TypedOption(name, placeholder, help, expected: expected) { text in
            guard let time = positive(text, .time).flatMap(TimeSpan.init(seconds:)) else { return nil }
            return range?.contains(time) == false ? nil : time
        }
    }
}

extension TypedOption<String> {
    /// One of these words.
    package static func word(
        _ name: String, _ placeholder: String, _ help: String, oneOf words: [String], expected: String
    ) -> TypedOption {
        TypedOption(name, placeholder, help, naming: .oneOf(words), expected: expected) {
            words.contains($0) ? $0 : nil
        }
    }
}

extension TypedOption<Int> {
    /// A whole number of this range.
    package static func number(
        _ name: String, _ placeholder: String, _ help: String, in range: ClosedRange<Int>, expected: String
    ) -> TypedOption {
        TypedOption(name, placeholder, help, expected: expected) {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

private func positive(_ text: String, _ dimension: Dimension) -> Double? {
    guard let quantity = try? Quantity.parse(text), quantity.value > 0,
        quantity.dimension == dimension || quantity.dimension == .none
    else { return nil }
    return quantity.value
}
