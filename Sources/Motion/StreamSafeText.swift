extension String {
    /// Whether comparing and hashing this text takes a time that grows with its length, and not with the square of it.
    ///
    /// Swift compares texts by what they mean, and puts marks that stand behind a letter into their order for that, all of a row at
    /// once. Unicode's own bound for such a row is 30, which no writing needs: https://www.unicode.org/reports/tr15/ (Stream-Safe Text
    /// Format). Whoever takes a text from a stranger asks this before anything is done with it.
    package var isStreamSafe: Bool {
        // No mark has fewer than two bytes.
        guard self.utf8.count > 2 * Self.mostMarks else { return true }
        // The first of them is U+0300.
        guard !self.utf8Span.isKnownASCII, self.utf8.contains(where: { $0 >= 0xCC }) else { return true }
        var marks = 0
        for scalar in self.unicodeScalars {
            marks = scalar.isMark ? marks + 1 : 0
            guard marks <= Self.mostMarks else { return false }
        }
        return true
    }

    /// The same without the marks that are too many in a row, for others to take.
    package var streamSafe: String {
        guard !self.isStreamSafe else { return self }
        var text = ""
        var marks = 0
        for scalar in self.unicodeScalars {
            marks = scalar.isMark ? marks + 1 : 0
            if marks <= Self.mostMarks { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    private static let mostMarks = 30
}

extension Unicode.Scalar {
    /// Whether it is put into an order with those beside it. Three of Tibetan have no class of their own, and are made of
    /// two that have.
    fileprivate var isMark: Bool {
        switch self.value {
        case 0xF73, 0xF75, 0xF81: true
        default: self.properties.canonicalCombiningClass != .notReordered
        }
    }
}
