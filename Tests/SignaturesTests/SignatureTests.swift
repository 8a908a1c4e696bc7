import Glibc
import Signatures
import TestSupport
import Testing

@Suite struct SignatureTests {
    /// Keys as people make them.
    private struct Keys {
        let directory: String
        var secret: String { "\(self.directory)/key.pem" }
        var open: String { "\(self.directory)/key.pub" }

        init(_ algorithm: String = "ed25519") throws {
            var template = Array("/tmp/jostle-keys-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw Failure("mkdtemp") }
            self.directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let made = try Tool.run([
                "sh", "-c",
                "openssl genpkey -algorithm \(algorithm) -out \(self.secret) && openssl pkey -in \(self.secret) -pubout -out \(self.open)",
            ])
            guard made.status == 0 else { throw Failure(made.stderr) }
        }

        func remove() throws { _ = try Tool.run(["rm", "-r", self.directory]) }
    }

    @Test func whatWasSignedIsKnownAndNothingElse() throws {
        let keys = try Keys()
        defer { try? keys.remove() }
        let bytes = Array("what is wanted".utf8)
        let signature = try SigningKey(file: keys.secret).sign(bytes)
        let key = try VerifyingKey(file: keys.open)
        #expect(key.isSigned(bytes, by: signature))
        for index in signature.indices {
            var other = signature
            other[index] ^= 1
            #expect(!key.isSigned(bytes, by: other))
        }
        #expect(!key.isSigned(bytes + [0], by: signature))
        #expect(!key.isSigned(bytes, by: []) && !key.isSigned(bytes, by: signature + [0]))
        let others = try Keys()
        defer { try? others.remove() }
        #expect(!(try VerifyingKey(file: others.open)).isSigned(bytes, by: signature))
    }

    @Test func aKeyIsToldFromOthers() throws {
        let (keys, others) = (try Keys(), try Keys())
        defer {
            try? keys.remove()
            try? others.remove()
        }
        let first = try VerifyingKey(file: keys.open).fingerprint
        let again = try VerifyingKey(file: keys.open).fingerprint
        let other = try VerifyingKey(file: others.open).fingerprint
        #expect(first == again && first.utf8.count == 64)
        #expect(first != other)
    }

    @Test func nothingAlsoCanBeSigned() throws {
        let keys = try Keys()
        defer { try? keys.remove() }
        #expect(try VerifyingKey(file: keys.open).isSigned([], by: SigningKey(file: keys.secret).sign([])))
    }

    /// Nobody is waited for who would have to write first.
    @Test func aPipeIsNoKey() throws {
        let keys = try Keys()
        defer { try? keys.remove() }
        let pipe = "\(keys.directory)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        // Both ends are open, and a key waits within.
        let end = open(pipe, O_RDWR | O_CLOEXEC)
        try #require(end >= 0)
        defer { close(end) }
        try #require(try Tool.run(["sh", "-c", "cat \(keys.open) > \(pipe)"]).status == 0)
        let problem = #expect(throws: KeyProblem.self) { try VerifyingKey(file: pipe) }
        #expect(problem?.description == "\(pipe): it is no file")
    }

    @Test func whatIsNoKeyOfItsKindIsRefused() throws {
        let keys = try Keys()
        defer { try? keys.remove() }
        #expect(throws: KeyProblem.self) { try VerifyingKey(file: "\(keys.directory)/nothing") }
        #expect(throws: KeyProblem.self) { try VerifyingKey(file: keys.secret) }
        #expect(throws: KeyProblem.self) { try SigningKey(file: keys.open) }
        #expect(throws: KeyProblem.self) { try VerifyingKey(file: "/dev/null") }
        let others = try Keys("x25519")
        defer { try? others.remove() }
        #expect(throws: KeyProblem.self) { try VerifyingKey(file: others.open) }
    }
}
