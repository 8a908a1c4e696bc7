import Testing

/// The daemons and tools as people run them: real processes on a real bus. One after the other, because each test starts
/// several programs and some of them look at the clock.
@Suite(.serialized) enum EndToEnd {}
