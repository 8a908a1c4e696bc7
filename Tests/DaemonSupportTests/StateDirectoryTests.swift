import DaemonSupport
import Testing

@Suite struct StateDirectoryTests {
    /// A session may be a unit that has a directory of its own: what its bus starts inherits the variable, and it is not for that.
    @Test(
        arguments: [
            (["STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "SYSTEMD_EXEC_PID": "17"], "/var/lib/a"),
            (["STATE_DIRECTORY": "/var/lib/a", "SYSTEMD_EXEC_PID": "16"], nil),
            // Before version 248 systemd does not say whom it started.
            (["STATE_DIRECTORY": "/var/lib/a"], "/var/lib/a"),
            (["STATE_DIRECTORY": "a", "SYSTEMD_EXEC_PID": "17"], nil), (["SYSTEMD_EXEC_PID": "17"], nil),
        ] as [([String: String], String?)])
    func whatWasInheritedIsNotForUs(_ environment: [String: String], _ directory: String?) {
        #expect(StateDirectory.ofManager({ environment[$0] }, pid: 17) == directory)
    }
}
