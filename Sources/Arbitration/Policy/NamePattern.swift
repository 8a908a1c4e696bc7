/// A name in which each `*` stands for any text, the empty one too.
package struct NamePattern: Hashable, Sendable {
    package let text: String
    /// True when the pattern is a name and nothing else.
    package let isLiteral: Bool

    package init(_ text: String) {
        self.text = text
        self.isLiteral = !text.utf8.contains(UInt8(ascii: "*"))
    }

    package func matches(_ name: String) -> Bool {
        if self.isLiteral { return self.text == name }
        if self.text == "*" { return true }
        return Self.match(self.text.utf8.span, name.utf8.span)
    }

    /// Goes back to the last star only, which is enough: an earlier one could not do better. Cost: the product of both.
    private static func match(_ pattern: Span<UInt8>, _ name: Span<UInt8>) -> Bool {
        var p = 0
        var n = 0
        var star = -1
        var resume = 0
        while n < name.count {
            if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
                star = p
                resume = n
                p += 1
            } else if p < pattern.count, pattern[p] == name[n] {
                p += 1
                n += 1
            } else if star >= 0 {
                resume += 1
                n = resume
                p = star + 1
            } else {
                return false
            }
        }
        while p < pattern.count, pattern[p] == UInt8(ascii: "*") { p += 1 }
        return p == pattern.count
    }
}

/// A list of patterns: a name must match one of `any`, if there are some, and none of `except`.
package struct NameList: Hashable, Sendable {
    package var any: NamePatterns
    package var except: NamePatterns

    package init(any: NamePatterns = [], except: NamePatterns = []) {
        self.any = any
        self.except = except
    }

    /// True when every name is meant.
    package var isOpen: Bool { self.any.isEmpty && self.except.isEmpty }

    package func matches(_ name: String) -> Bool {
        if self.isOpen { return true }
        guard self.any.isEmpty || self.any.matches(name) else { return false }
        return !self.except.matches(name)
    }
}
