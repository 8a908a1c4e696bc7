import TestSupport
import Testing

extension Surroundings.Examples {
    /// Builds one of the examples that a compiler has to see, and returns where it is.
    static func compiled(_ name: String) throws -> String {
        let directory = "\(Programs.directory)/examples"
        let result = try Tool.run(
            [
                "make", "-s", "-f", Programs.source("docs/examples/Makefile"), "BUILD=\(directory)",
                "INTERFACES=\(Programs.source("dbus"))", "CFLAGS=-Wall -Werror", "\(directory)/\(name)",
            ], timeout: .seconds(300))
        try #require(result.status == 0, "\(result.stderr)")
        return "\(directory)/\(name)"
    }
}
