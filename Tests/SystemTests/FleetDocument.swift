import TestSupport
import Testing

/// What documents say to type, and to write into files.
enum FleetDocument {
    /// The first block of code behind a line with these words.
    static func block(behind words: String, of file: String = "docs/fleet.md") throws -> String {
        let text = try Tool.run(["cat", Programs.source(file)]).stdout
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.contains(words) }, "\(file) does not say '\(words)'")
        let block = lines[start...].drop { !$0.hasPrefix("```") }.dropFirst().prefix { !$0.hasPrefix("```") }
        try #require(!block.isEmpty, "nothing stands behind '\(words)'")
        return block.map { "\($0)\n" }.joined()
    }

    static func commands(behind words: String, of file: String = "docs/fleet.md") throws -> [String] {
        try self.block(behind: words, of: file).split(separator: "\n").map(String.init)
    }
}
