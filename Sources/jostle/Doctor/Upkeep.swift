/// How one of the services is started anew, and where its log is: by systemd where that has a unit of it, else by its process.
struct Upkeep: Equatable {
    /// `nil`: nobody was asked, or there is no manager.
    var unit: UnitExam?
    var process: UInt32?

    /// How a new one takes the place of one that runs. Without a unit by its end: the bus starts the next one.
    ///
    /// - Parameter isSilent: it answers nobody, and so hears of no request to end either.
    func restart(isSilent: Bool = false) -> [TypedCommand] {
        // A unit that does not run is not what answers.
        if let unit, unit.isLoaded, unit.state != "inactive" || self.process == nil { return [unit.command("restart")] }
        guard let process else { return [] }
        return [isSilent ? .run("kill", "-KILL", "\(process)") : .run("kill", "\(process)")]
    }

    /// What shows its log; nothing where nobody knows where that goes.
    var log: [TypedCommand] {
        if let unit, unit.isLoaded { [unit.log] } else { [] }
    }
}
