import Glibc
package import Loop

/// Standard output or the errors' of a program that people start: nobody who does not read keeps it from being ended.
package struct StandardStream: Sendable {
    package static let output = StandardStream(STDOUT_FILENO)
    package static let errors = StandardStream(STDERR_FILENO)

    package let isTerminal: Bool
    /// A terminal is opened for ourselves, so that no call waits in it: at Ctrl-C the kernel throws away what a terminal has not
    /// read, and wakes nobody who waits in a call for room. It is open as long as the program runs.
    private let descriptor: Int32

    private init(_ inherited: Int32) {
        self.isTerminal = isatty(inherited) == 1
        guard self.isTerminal else {
            self.descriptor = inherited
            return
        }
        do throws(SystemError) {
            self.descriptor =
                try OwnedDescriptor(opening: "/proc/self/fd/\(inherited)", O_WRONLY | O_NONBLOCK).release()
        } catch {
            // It is somebody else's, as behind `su`: calls wait in it.
            self.descriptor = inherited
        }
    }

    /// Writes a whole text as long as there is a reason to wait for whoever reads it.
    ///
    /// - Parameter isVain: asked now and then while nobody reads. When it says so the rest is not written, which is a failure with EPIPE, as
    ///   where nobody reads any more.
    package func write(_ text: String, unless isVain: () -> Bool) throws(SystemError) {
        try writeAll(text, to: self.descriptor, unless: isVain)
    }
}
