import DeviceCore
import Glibc
import Loop

/// A device's directory in sysfs: attributes by name, as text.
struct AttributeDirectory {
    let path: String

    /// No attribute of ours is longer.
    private static let longest = 4_096

    func path(of name: String) -> String { "\(self.path)/\(name)" }

    /// An attribute's text without the line feed.
    func text(_ name: String) throws(DeviceProblem) -> String {
        do throws(SystemError) {
            let file = try InputFile(self.path(of: name))
            var bytes = [UInt8](repeating: 0, count: Self.longest)
            let count = try file.read(into: &bytes)
            var text = String(decoding: bytes[..<count], as: UTF8.self)
            while let last = text.last, last.isWhitespace || last == "\0" { text.removeLast() }
            return text
        } catch {
            throw DeviceProblem(error, on: name)
        }
    }

    /// An attribute's text, or `nil` when there is no such attribute.
    func textIfAny(_ name: String) throws(DeviceProblem) -> String? {
        self.has(name) ? try self.text(name) : nil
    }

    func number(_ name: String) throws(DeviceProblem) -> Double {
        let text = try self.text(name)
        guard let number = AttributeText.number(text) else {
            throw DeviceProblem("\(name) is '\(text.prefix(40))', which is no number")
        }
        return number
    }

    /// Whether a channel can be read, by itself or in the buffer.
    func hasChannel(_ name: String) -> Bool {
        ["in_\(name)_raw", "in_\(name)_input", "scan_elements/in_\(name)_en"].contains { self.has($0) }
    }

    func has(_ name: String) -> Bool {
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        unsafe access(self.path(of: name), F_OK) == 0
    }

    /// Whether an attribute can be written, and by us. The mode is looked at too, because root may write what nobody reads.
    func takes(_ name: String) -> Bool {
        var status = stat()
        let path = self.path(of: name)
        // SAFETY: the path is a NUL-terminated string, and the struct lives, for the time of the calls.
        return unsafe stat(path, &status) == 0 && status.st_mode & 0o222 != 0 && access(path, W_OK) == 0
    }

    func write(_ text: String, to name: String) throws(DeviceProblem) {
        do throws(SystemError) {
            let file = try OwnedDescriptor(opening: self.path(of: name), O_WRONLY | O_TRUNC)
            let raw = file.raw
            let bytes = Array(text.utf8)
            // SAFETY: the array lives until the call returns, and has as many bytes as it says.
            try systemCall("write") { unsafe Glibc.write(raw, bytes, bytes.count) }
        } catch {
            throw DeviceProblem(error, on: name)
        }
    }

    /// The names in a directory below this one, sorted; none when there is no such directory.
    func names(in directory: String) -> [String] {
        (try? directoryNames(self.path(of: directory))) ?? []
    }
}

/// One attribute that is read again and again: a file that stays open.
final class AttributeFile: Sendable {
    /// Makes a number of what an attribute holds.
    typealias Parser = @Sendable (_ text: Span<UInt8>) -> Double?

    private let path: String
    private let name: String
    private let descriptor: OwnedDescriptor
    /// No converter has as many bits.
    private static let largest = 0x1p40
    /// Bytes that a number takes at most.
    static let longestNumber = 64

    convenience init(_ directory: AttributeDirectory, _ name: String) throws(DeviceProblem) {
        try self.init(directory.path(of: name), name)
    }

    private init(_ path: String, _ name: String) throws(DeviceProblem) {
        self.path = path
        self.name = name
        do throws(SystemError) {
            self.descriptor = try OwnedDescriptor(opening: path, O_RDONLY)
        } catch {
            throw DeviceProblem(error, on: name)
        }
    }

    /// The file that has this one's place now.
    func reopened() throws(DeviceProblem) -> AttributeFile { try AttributeFile(self.path, self.name) }

    /// Reads what the attribute holds now, as `parse` makes a number of it. Waits for the device.
    ///
    /// - Parameter bytes: Room to read into.
    func number(_ parse: Parser, _ bytes: inout [UInt8]) throws(DeviceProblem) -> Double {
        let raw = self.descriptor.raw
        var count = 0
        var failure: SystemError?
        unsafe bytes.withUnsafeMutableBytes { buffer in
            do throws(SystemError) {
                // SAFETY: the kernel writes at most `buffer.count` bytes at its base.
                count = try systemCall("pread") { unsafe pread(raw, buffer.baseAddress, buffer.count, 0) }
            } catch {
                failure = error
            }
        }
        if let failure { throw DeviceProblem(failure, on: self.name) }
        guard let number = parse(bytes.span.extracting(0..<count)), number.magnitude <= Self.largest else {
            throw DeviceProblem(passing: "\(self.name) holds no reading")
        }
        return number
    }

    /// True when another file has taken this one's place: the kernel's own never do, those of a test bed do.
    var isReplaced: Bool {
        var status = stat()
        // SAFETY: the struct lives until the call returns.
        return unsafe fstat(self.descriptor.raw, &status) == 0 && status.st_nlink == 0
    }
}
