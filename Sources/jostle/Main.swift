import DaemonSupport

/// jostle: what people and scripts do with the two services.
@main
struct Main {
    static let syntax = CommandSyntax(
        "jostle", "Watches motion, runs commands on it, and shows who reacts to what.",
        options: [CommonOption.bus, CommonOption.sensorBus],
        commands: [
            DemoCommand.syntax,
            StatusCommand.syntax,
            DoctorCommand.syntax,
            SensorsCommand.syntax,
            ScopeCommand.syntax,
            TopCommand.syntax,
            AppsCommand.syntax,
            AppCommand.syntax,
            TasksCommand.syntax,
            TaskCommand.syntax,
            FocusCommand.syntax,
            ForegroundCommand.syntax,
            StateCommand.syntax,
            ForgetCommand.syntax,
            PushCommand.syntax,
            LockCommand.syntax,
            UnlockCommand.syntax,
            ReportCommand.syntax,
            ClipsCommand.syntax,
            ClipWhatIfCommand.syntax,
            ExplainCommand.syntax,
            WhyNotCommand.syntax,
            PresetsCommand.syntax,
            WatchCommand.syntax,
            PauseCommand.syntax,
            ResumeCommand.syntax,
            OnCommand.syntax,
            RecordCommand.syntax,
            MakeCommand.syntax,
            PolicyCommand.syntax,
            BridgeCommand.syntax,
            FleetCommand.syntax,
            ScenarioCommand.syntax,
            ReplayCommand.syntax,
            TeachCommand.syntax,
            TuneCommand.syntax,
            ShakeCommand.syntax,
        ])

    static func main() {
        Startup.prepareProgram()
        FleetCommand.becomeIfMeant(CommandLine.arguments)
        let arguments = self.syntax.parseOrExit(naming: CompletionNames.candidates)
        do {
            try self.syntax.perform(arguments)
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch let failure as CommandFailure {
            complain(failure.message, showing: failure.excerpt)
            failure.code.exit()
        } catch {
            complain("\(error)")
            ExitCode.no.exit()
        }
    }
}
