import Testing

// Real processes on a real bus. In each of these suites one test comes after the other, because each starts several programs and
// some of them look at the clock. The suites go on beside each other: most of their time they wait.

/// The broker and its apps.
@Suite(.serialized) enum EndToEnd {}

/// What looks at the world for the broker: the reader of the sensors, and the program that looks at displays.
@Suite(.serialized) enum Senses {}

/// What stands around the daemons: commands, demos, documents, bridges, clients in other languages.
@Suite(.serialized) enum Surroundings {}
