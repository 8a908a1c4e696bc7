/// What can be said to our programs, as the files say that describe their interfaces.
package struct BusGrammar: Sendable {
    /// A method or a signal.
    package struct Member: Sendable {
        package let interface: String
        package let name: String
        package let isSignal: Bool
        package fileprivate(set) var inputs: [WireType] = []
        package fileprivate(set) var outputs = ""
        /// What each argument that goes in is called.
        package fileprivate(set) var names: [String] = []
        /// What its comment says.
        package fileprivate(set) var hints = Hints()

        package var fullName: String { "\(self.interface).\(self.name)" }
    }

    /// What one may make of a comment.
    package struct Hints: Sendable {
        /// Keys that it names with their types.
        package fileprivate(set) var keys: [Key] = []
        package fileprivate(set) var words: [String] = []

        package init() {}
    }

    /// A key of options, and what belongs behind it.
    package struct Key: Sendable {
        package let name: String
        package let type: WireType
    }

    package private(set) var members: [Member] = []
    package private(set) var properties: [(interface: String, name: String)] = []
    /// The words of the comments: among them is each that means something.
    package private(set) var words: [String] = []

    package var methods: [Member] { self.members.filter { !$0.isSignal } }
    package var signals: [Member] { self.members.filter(\.isSignal) }

    /// - Parameter files: The files' texts.
    package init(_ files: [String]) {
        var words: Set<String> = []
        for file in files { self.read(Array(file.utf8), &words) }
        self.words = words.sorted()
        self.dropCommonWords()
    }

    /// What stands in most comments says nothing of one.
    private mutating func dropCommonWords() {
        var uses: [String: Int] = [:]
        for member in self.members { for word in Set(member.hints.words) { uses[word, default: 0] += 1 } }
        for place in self.members.indices {
            self.members[place].hints.words.removeAll { (uses[$0] ?? 0) > Self.mostUses }
        }
    }

    private static let mostUses = 6

    private mutating func read(_ file: [UInt8], _ words: inout Set<String>) {
        var interface = ""
        var comment = ""
        var place = 0
        while let start = file[place...].firstIndex(of: UInt8(ascii: "<")) {
            let isComment = file[start...].starts(with: Array("<!--".utf8))
            let mark = Array((isComment ? "-->" : ">").utf8)
            guard let end = file[start...].indices.first(where: { file[$0...].starts(with: mark) }) else { return }
            let text = String(decoding: file[start..<end], as: UTF8.self)
            place = end + mark.count
            if isComment {
                comment = text
                words.formUnion(Self.words(of: text))
                continue
            }
            let name = Self.attribute("name", of: text) ?? ""
            switch text.dropFirst().prefix(while: { $0.isLetter }) {
            case "interface": interface = name
            case "method", "signal":
                var member = Member(interface: interface, name: name, isSignal: text.hasPrefix("<signal"))
                member.hints.keys = Self.keys(of: comment)
                member.hints.words = Self.words(of: comment)
                self.members.append(member)
            case "arg":
                guard let type = Self.attribute("type", of: text), let types = WireType.read(type) else { continue }
                if Self.attribute("direction", of: text) == "out" {
                    self.members[self.members.count - 1].outputs += type
                } else {
                    self.members[self.members.count - 1].inputs += types
                    self.members[self.members.count - 1].names.append(name)
                }
            case "property": self.properties.append((interface, name))
            default: break
            }
        }
    }

    private static func attribute(_ name: String, of tag: String) -> String? {
        for field in tag.split(separator: " ") {
            let parts = field.split(separator: "\"", omittingEmptySubsequences: false)
            if parts.count >= 2, parts[0] == "\(name)=" { return String(parts[1]) }
        }
        return nil
    }

    private static func words(of comment: String) -> [String] {
        comment.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "." })
            .filter { $0.count > 1 && $0.first?.isLowercase == true }.map {
                $0.last == "." ? String($0.dropLast()) : String($0)
            }
    }

    /// `word (type)` and `word (type or s)`, of what is said of the options, if it is said there.
    private static func keys(of comment: String) -> [Key] {
        let lines = comment.split(separator: "\n", omittingEmptySubsequences: false)
        let first = lines.firstIndex { $0.contains("@options:") } ?? lines.endIndex
        let rest = lines[first...]
        let own = rest.prefix { $0 == rest.first || !$0.contains("@") && !$0.allSatisfy { $0 == " " } }
        let text = Array(own.joined(separator: "\n").utf8)
        let keys = self.keys(in: text)
        return keys.isEmpty && !own.contains { $0.contains("Nothing yet") } ? self.keys(in: Array(comment.utf8)) : keys
    }

    private static func keys(in text: [UInt8]) -> [Key] {
        var keys: [Key] = []
        for place in text.indices where place > 2 && text[place] == UInt8(ascii: "(") && text[place - 1] == 0x20 {
            let name = text[..<(place - 1)].reversed().prefix { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
            let signature = text[(place + 1)...].prefix { $0 != 0x20 && $0 != 0x0A }.prefix(16)
            guard !name.isEmpty, let end = signature.lastIndex(of: UInt8(ascii: ")")) ?? Optional(signature.endIndex),
                let types = WireType.read(String(decoding: signature[..<end], as: UTF8.self)), types.count == 1
            else { continue }
            keys.append(Key(name: String(decoding: name.reversed(), as: UTF8.self), type: types[0]))
        }
        return keys
    }
}
