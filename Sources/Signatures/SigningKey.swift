import CCrypto
import Glibc

/// Why a key cannot be used.
package struct KeyProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A key of ed25519 as the library has it, from a PEM file.
///
/// Not `Sendable`: it belongs to one thread.
@safe
private final class LibraryKey {
    let handle: OpaquePointer

    init(_ path: String, isPrivate: Bool) throws(KeyProblem) {
        // Nobody is waited for who would have to write first.
        // SAFETY: the path lives for the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        // SAFETY: the descriptor is open and nobody else's; the string lives for the call.
        guard descriptor >= 0, let file = unsafe fdopen(descriptor, "r") else {
            let reason = unsafe String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw KeyProblem("\(path): \(reason)")
        }
        // SAFETY: the file is open until here.
        defer { unsafe _ = fclose(file) }
        var status = stat()
        // SAFETY: the structure is ours.
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw KeyProblem("\(path): it is no file")
        }
        // A key that wants a passphrase is refused, rather than a terminal asked.
        // SAFETY: the file is open; the callback takes nothing and gives nothing.
        let handle =
            isPrivate
            ? unsafe PEM_read_PrivateKey(file, nil, { _, _, _, _ in -1 }, nil)
            : unsafe PEM_read_PUBKEY(file, nil, { _, _, _, _ in -1 }, nil)
        guard let handle = unsafe handle else {
            throw KeyProblem("\(path): it holds no \(isPrivate ? "private" : "public") key without a passphrase")
        }
        unsafe self.handle = handle
        // SAFETY: the handle is ours, until `deinit`.
        guard unsafe CCrypto_id(handle) == CCrypto_ed25519 else { throw KeyProblem("\(path): it is no ed25519 key") }
    }

    deinit {
        // SAFETY: the handle is ours, and nobody else has it.
        unsafe EVP_PKEY_free(self.handle)
    }
}

/// Signs what is wanted of devices.
package struct SigningKey {
    fileprivate let key: LibraryKey

    /// Reads a private key, such as `openssl genpkey -algorithm ed25519` makes.
    package init(file path: String) throws(KeyProblem) { self.key = try LibraryKey(path, isPrivate: true) }

    package func sign(_ bytes: [UInt8]) throws(KeyProblem) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: VerifyingKey.signatureBytes)
        var count = signature.count
        // SAFETY: the context is freed below, and not used after; the arrays live for the calls, and are as long as is said.
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestSignInit(context, nil, nil, nil, self.key.handle) == 1,
            unsafe EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1, count == signature.count
        else { throw KeyProblem("the key cannot sign") }
        return signature
    }
}

extension LibraryKey {
    fileprivate func isSigned(_ bytes: [UInt8], by signature: [UInt8]) -> Bool {
        guard signature.count == VerifyingKey.signatureBytes else { return false }
        // SAFETY: the context is freed below, and not used after; the arrays live for the calls, and are as long as is said.
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe EVP_DigestVerifyInit(context, nil, nil, nil, self.handle) == 1
            && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
    }
}

extension SigningKey {
    /// Whether this key itself signed something.
    package func isSigned(_ bytes: [UInt8], by signature: [UInt8]) -> Bool { self.key.isSigned(bytes, by: signature) }
}

/// Tells whether the owner of a key signed something.
package struct VerifyingKey {
    package static let signatureBytes = 64

    private let key: LibraryKey

    /// Reads a public key, such as `openssl pkey -pubout` makes.
    package init(file path: String) throws(KeyProblem) { self.key = try LibraryKey(path, isPrivate: false) }

    /// What tells this key from others, whatever its file looks like.
    package var fingerprint: String {
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = bytes.count
        // SAFETY: the array lives for the call, and is as long as is said.
        let isThere = unsafe EVP_PKEY_get_raw_public_key(self.key.handle, &bytes, &count) == 1
        return isThere ? bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() : ""
    }

    package func isSigned(_ bytes: [UInt8], by signature: [UInt8]) -> Bool { self.key.isSigned(bytes, by: signature) }
}
