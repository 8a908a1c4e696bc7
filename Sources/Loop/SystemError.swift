import Glibc

/// A system call that failed: which function, and the error number it left.
package struct SystemError: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    /// The error number, as `errno` gives it.
    package let code: Int32
    /// The name of the C function that failed.
    package let function: String

    package init(code: Int32, function: String) {
        self.code = code
        self.function = function
    }

    /// The failure that `errno` tells of now. To be made before anything else can change `errno`.
    package static func last(_ function: String) -> SystemError {
        SystemError(code: errno, function: function)
    }

    /// Something of the system is used up, of which there may be some the next moment.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(self.code) }

    /// `open: No such file or directory (2)`.
    package var description: String { "\(self.function): \(Self.message(for: self.code)) (\(self.code))" }

    /// What an error number means, in the C library's words.
    ///
    /// The corresponding C function is `strerror`, which glibc made safe to call from every thread in 2.32.
    package static func message(for code: Int32) -> String {
        // SAFETY: strerror never returns NULL, and the text is copied before the next call can replace it.
        guard let text = unsafe strerror(code) else { return "Unknown error" }
        return unsafe String(cString: text)
    }
}
