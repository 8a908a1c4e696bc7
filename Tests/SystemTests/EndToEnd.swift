import Testing

/// The daemons as they run: real processes on a real bus. One after the other, because each test starts several programs
/// and some of them look at the clock.
@Suite(.serialized) enum EndToEnd {}

/// What stands around the daemons: commands, demos, documents, bridges, clients in other languages. Real processes, too, one
/// after the other, and beside those of the daemons: most of their time they wait.
@Suite(.serialized) enum Surroundings {}
