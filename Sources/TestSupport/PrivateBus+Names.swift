extension PrivateBus {
    /// Runs a tool with this bus for its session or system bus.
    package func run(_ arguments: [String], timeout: Duration = .seconds(30)) throws(Failure) -> Tool.Result {
        try Tool.run(arguments, environment: self.environment, timeout: timeout)
    }

    /// Runs `busctl` on this bus.
    package func busctl(_ arguments: [String], timeout: Duration = .seconds(30)) throws(Failure) -> Tool.Result {
        try Tool.run(["busctl", "--address=\(self.address)"] + arguments, timeout: timeout)
    }

    /// Waits until somebody owns the name; returns at once if somebody does.
    package func waitForName(_ name: String, timeout: Duration = .seconds(20)) throws(Failure) {
        try self.watch(name, timeout: timeout) { $0.contains(" is owned by ") }
    }

    /// Waits until nobody owns the name.
    package func waitForNameLost(_ name: String, timeout: Duration = .seconds(20)) throws(Failure) {
        try self.watch(name, timeout: timeout) { $0.hasSuffix(" does not have an owner") }
    }

    /// Follows `NameOwnerChanged`, and the owner to begin with, through the words of `gdbus monitor`.
    private func watch(_ name: String, timeout: Duration, until fits: (String) -> Bool) throws(Failure) {
        let monitor = try BackgroundProgram(tool: ["gdbus", "monitor", "--address", self.address, "--dest", name])
        _ = try monitor.waitForLine(timeout: timeout) { $0.hasPrefix("The name \(name) ") && fits($0) }
    }
}
