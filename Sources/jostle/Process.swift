import EventLoop
import Glibc

/// The environment we were started with, as `NAME=value` lines.
func inheritedEnvironment() -> [String] {
    var lines: [String] = []
    // SAFETY: nothing in this process changes its environment.
    var entry = unsafe environ
    while let line = unsafe entry.pointee {
        lines.append(unsafe String(cString: line))
        unsafe entry += 1
    }
    return lines
}

/// Ends what runs at Ctrl-C and at a request to terminate.
func stopOnSignals(_ loop: EventLoop, _ stop: @escaping () -> Void) {
    do throws(SystemError) {
        try loop.onSignals([SIGINT, SIGTERM]) { _ in stop() }
    } catch {
        complain("signals cannot be watched: \(error)")
    }
}

/// The path of one of our own programs: beside this one, or where an installation puts daemons.
func siblingProgram(_ name: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4_096)
    // SAFETY: the kernel writes at most the buffer's size less one.
    let length = unsafe readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard length > 0 else { return nil }
    let own = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard let slash = own.lastIndex(of: "/") else { return nil }
    let directory = String(own[..<slash])
    return ["\(directory)/\(name)", "\(directory)/../libexec/\(name)", "\(directory)/../libexec/jostle/\(name)"]
        .first { unsafe access($0, X_OK) == 0 }
}
