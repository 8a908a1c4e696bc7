import Glibc
import Loop
import Testing

/// What is removed of what others may write in.
@Suite struct RemovalTests {
    /// A directory that goes with this.
    private final class Place {
        let path: String

        init() throws {
            var template = Array("/tmp/jostle-removal-XXXXXX\0".utf8CString.dropLast())
            try #require(mkdtemp(&template) != nil)
            self.path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        deinit { removeAll(self.path) }

        func makeDirectory(_ name: String) throws -> String {
            let path = "\(self.path)/\(name)"
            try #require(mkdir(path, 0o755) == 0)
            return path
        }
    }

    private static func makeFile(_ path: String) throws {
        _ = try OwnedDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    }

    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    @Test func allGoesButWhatLinksLeadTo() throws {
        let place = try Place()
        let (tree, other) = (try place.makeDirectory("tree"), try place.makeDirectory("other"))
        try Self.makeFile("\(other)/file")
        _ = try place.makeDirectory("tree/empty")
        let inner = try place.makeDirectory("tree/inner")
        try Self.makeFile("\(inner)/file")
        try #require(symlink(other, "\(inner)/link") == 0 && symlink("nowhere", "\(tree)/link") == 0)
        removeAll("\(other)/nothing")
        removeAll(tree)
        #expect(!Self.isThere(tree) && Self.isThere("\(other)/file"))
        try #require(symlink(other, tree) == 0)
        removeAll(tree)
        #expect(!Self.isThere(tree) && Self.isThere("\(other)/file"))
        removeAll("\(other)/file")
        #expect(!Self.isThere("\(other)/file") && Self.isThere(other))
    }

    /// Whoever owns a directory that is being emptied puts a link in its place, which leads to files of the same names.
    @Test func whatALinkThatComesMeanwhileLeadsToStays() throws {
        let place = try Place()
        let (tree, other) = (try place.makeDirectory("tree"), try place.makeDirectory("other"))
        let inner = try place.makeDirectory("tree/inner")
        for number in 1_000..<6_000 { try Self.makeFile("\(inner)/\(number)") }
        for directory in [inner, other] { try Self.makeFile("\(directory)/last") }
        let done = "\(place.path)/done"
        onThread {
            while access("\(inner)/1000", F_OK) == 0 {}
            _ = rename(inner, "\(tree)/moved")
            _ = symlink(other, inner)
            _ = mkdir(done, 0o755)
        }
        removeAll(tree)
        while !Self.isThere(done) { usleep(1_000) }
        #expect(Self.isThere("\(other)/last"))
    }
}
