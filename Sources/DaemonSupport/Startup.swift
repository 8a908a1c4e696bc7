import Glibc
package import Loop

/// What a program does before anything else.
package enum Startup {
    /// The signals by which a daemon is told to stop or to reload. They wait until its loop asks for them.
    package static let signals = [SIGTERM, SIGINT, SIGHUP]
    /// The one among them that asks to read files anew.
    package static let reloadSignal = SIGHUP

    /// Prepares a daemon; the first statement of its `main`.
    ///
    /// Blocks `signals`, because whoever starts us may send one at once, and threads inherit the mask.
    package static func prepareDaemon() throws(SystemError) {
        try blockSignals(self.signals)
        // A file that may grow no further makes writing fail and not the process die.
        _ = signal(SIGXFSZ, SIG_IGN)
        self.prepareProgram()
        raiseDescriptorLimit()
    }

    /// Prepares any program: a peer that is gone makes writing fail and not the process die, and the three standard
    /// descriptors are open, so that nothing else can get their numbers.
    package static func prepareProgram() {
        _ = signal(SIGPIPE, SIG_IGN)
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one. SAFETY: the path is a constant.
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }
}
