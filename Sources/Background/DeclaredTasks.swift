package import Arbitration
/// What an app file says of background work.
package struct DeclaredTasks: Equatable, Sendable {
    package var identifiers: [String]
    package var modes: WordSet<BackgroundMode>

    package init(_ identifiers: [String], modes: WordSet<BackgroundMode>) {
        self.identifiers = identifiers
        self.modes = modes
    }
}
