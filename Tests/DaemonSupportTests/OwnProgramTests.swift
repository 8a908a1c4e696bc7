import DaemonSupport
import Glibc
import Testing

@Suite struct OwnProgramTests {
    /// As `make install` has it: what the command is called is also a directory beside the daemons.
    @Test func whatIsNoProgramIsPassedOver() throws {
        var template = Array("/tmp/jostle-own-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            for file in ["plain/jostle", "program/jostle"] { unlink("\(directory)/\(file)") }
            for path in ["folder/jostle", "folder", "plain", "program", ""] { rmdir("\(directory)/\(path)") }
        }
        for path in ["folder", "folder/jostle", "plain", "program"] {
            try #require(mkdir("\(directory)/\(path)", 0o755) == 0)
        }
        for (file, mode) in [("plain/jostle", 0o644), ("program/jostle", 0o755)] as [(String, mode_t)] {
            let descriptor = open("\(directory)/\(file)", O_WRONLY | O_CREAT | O_EXCL, mode)
            try #require(descriptor >= 0)
            close(descriptor)
        }
        // As seen from wherever this program is.
        let root = Array(repeating: "..", count: 64).joined(separator: "/")
        func found(_ names: String...) -> String? {
            OwnProgram.path(of: "jostle", in: names.map { "\(root)\(directory)/\($0)" })
        }
        #expect(found("missing", "folder", "plain", "program")?.hasSuffix("\(directory)/program/jostle") == true)
        #expect(found("missing", "folder", "plain") == nil)
    }
}
