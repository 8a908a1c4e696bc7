import CTestSupport
import Glibc

/// Where the programs of this build are, and what they are started with.
package enum Programs {
    /// The directory of the running program: the build's, for the test bundle and for the benchmark alike; or another
    /// build's, which `JOSTLE_TEST_PROGRAMS` names.
    package static let directory: String = {
        if let other = Programs.variable("JOSTLE_TEST_PROGRAMS"), !other.isEmpty { return other }
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: the buffer has the size that is passed along.
        let size = bytes.count
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe readlink("/proc/self/exe", start, size)
        }
        let path = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }()

    /// The path of an executable of this build.
    package static func path(of name: String) -> String { "\(self.directory)/\(name)" }

    /// The path of a file of the source tree, from its root: `Tests/Scripts/own-name.py`.
    package static func source(_ path: String) -> String {
        let here = "Sources/TestSupport/Programs.swift"
        return String("\(#filePath)".dropLast(here.count)) + path
    }

    /// The path of a recorded device: `phone.umockdev`.
    package static func device(_ name: String) -> String { self.source("Sources/TestSupport/Devices/\(name)") }

    /// Our environment, one `NAME=value` each, with some variables replaced. Tools are to speak plain English.
    static func environment(adding additions: [String: String]) -> [String] {
        // Whoever wants to keep something must say where: nothing may end up in the user's home, nor is what is there read.
        let added = ["LC_ALL": "C", "XDG_STATE_HOME": "/dev/null", "XDG_DATA_HOME": "/dev/null"].merging(additions) {
            $1
        }
        var result = added.map { "\($0.key)=\($0.value)" }
        // SAFETY: an array of strings ended by a null pointer; nothing here changes it.
        guard var entry = unsafe CTestSupport_environment() else { return result }
        while let string = unsafe entry.pointee {
            let text = unsafe String(cString: string)
            let name = text.prefix { $0 != "=" }
            if added[String(name)] == nil { result.append(text) }
            unsafe entry += 1
        }
        return result
    }

    /// A variable of our environment.
    package static func variable(_ name: String) -> String? {
        // SAFETY: getenv returns null or a terminated string, copied at once.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
