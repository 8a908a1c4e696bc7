import DaemonSupport
import Glibc
import Loop

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
        try loop.onSignals([SIGINT, SIGTERM]) { signal in
            EndRequest.note(signal)
            stop()
        }
    } catch {
        complain("signals cannot be watched: \(error)")
    }
}

/// Whether Ctrl-C or a request to terminate has told us to end, also where `stopOnSignals` has not heard of it yet.
func isToldToEnd() -> Bool { EndRequest.hasCome(by: [SIGINT, SIGTERM]) }

/// Whether it was a request to terminate.
func isTerminated() -> Bool { EndRequest.hasCome(by: [SIGTERM]) }

/// Ends the process at Ctrl-C and at a request to terminate, until `stopOnSignals` says what they are to end: for whoever has
/// done nothing yet that has to be undone, and asks somebody who may never answer.
func endOnSignals(_ loop: EventLoop) {
    stopOnSignals(loop) { ExitCode.done.exit() }
}

/// The path of one of our own programs: beside this one, or where an installation puts daemons.
func siblingProgram(_ name: String) -> String? {
    OwnProgram.path(of: name, in: ["", "../libexec", "../libexec/jostle"])
}

/// Whether there is a program to run under a path, or under a name without a slash in `PATH`.
func isProgram(_ name: String) -> Bool {
    // What the C library does without the variable.
    let directories = name.contains("/") ? nil : environmentValue("PATH") ?? "/bin:/usr/bin"
    let paths = directories?.split(separator: ":", omittingEmptySubsequences: false).map {
        $0.isEmpty ? name : "\($0)/\(name)"
    }
    return (paths ?? [name]).contains { path in
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        unsafe access(path, X_OK) == 0 && !isDirectory(path)
    }
}

/// Whom a file is of, and what it is; `nil`: there is none.
func fileStatus(_ path: String) -> stat? {
    var status = stat()
    // SAFETY: the path is a NUL-terminated string for the time of the call, and the structure is ours.
    return unsafe stat(path, &status) == 0 ? status : nil
}

func isDirectory(_ path: String) -> Bool { fileStatus(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }

/// All bytes of a file that a person named; `-` is standard input. Longer than anybody's would be is refused.
func contents(of path: String, atMost most: Int = 64 << 20) throws(CommandFailure) -> [UInt8] {
    do throws(SystemError) {
        return try InputFile.contents(of: path, atMost: most)
    } catch {
        throw .usage(error.code == EFBIG ? "\(path) is longer than \(most) bytes" : "\(path): \(error)")
    }
}
