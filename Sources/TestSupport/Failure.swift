import Glibc

/// What went wrong while a test or the benchmark was set up or waited.
package struct Failure: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    /// A call of the C library that failed, with the text of `errno`.
    static func system(_ what: String, _ number: Int32 = errno) -> Failure {
        // SAFETY: strerror returns a terminated string, which is copied before anybody can call it again here.
        Failure("\(what): \(unsafe String(cString: strerror(number)))")
    }
}
