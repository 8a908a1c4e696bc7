import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// How well an app is proven: by the sandbox and by the control group that its process really is in.
    @Suite(.serialized) struct Identities {
        private static let app = "org.example.Player"
        private static let file = "[App]\nUsage=Skips when you shake the device\n"
        private static let root = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"

        private func start(_ stage: Stage) throws {
            let policy = "[Policy]\nDefault=allow\n"
            try stage.startBroker(policy: policy, apps: [Self.app: Self.file], "--state-dir", stage.state)
        }

        private func stage() throws -> Stage {
            let stage = try Stage(source: nil, broker: false)
            try self.start(stage)
            return stage
        }

        /// Registers as the app from a process that is started by some command; what the broker answers.
        private func register(
            _ stage: Stage, durable: Bool = false, by command: [String] = []
        ) throws -> String {
            let options = durable ? "{'durable':V('b',True)}" : "{}"
            let result = try Tool.run(
                command + ["/usr/bin/python3", Programs.source("Tests/Scripts/bus-script.py"), stage.address]
                    + [
                        "app own \(Self.app)", "app call \(Self.root) Register sa{sv} ['\(Self.app)',\(options)]",
                        "app call org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.freedesktop.DBus.Properties Get ss"
                            + " ['org.jostle.Broker1.App','Identity']",
                    ])
            try #require(result.status == 0, "\(result.stderr)")
            return result.stdout
        }

        // MARK: Control groups

        /// Where a test can make groups; `nil`: nowhere.
        private static let groups: String? = {
            guard geteuid() == 0 else { return nil }
            return ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].first { access("\($0)/cgroup.procs", W_OK) == 0 }
        }()

        /// A group of its own, gone with it.
        private final class Group {
            let path: String
            private let slice: String

            init(_ unit: String) throws {
                self.slice = "\(try #require(Identities.groups))/jostle-test\(getpid()).slice"
                self.path = "\(self.slice)/\(unit)"
                try #require(mkdir(self.slice, 0o755) == 0 && mkdir(self.path, 0o755) == 0)
            }

            deinit {
                rmdir(self.path)
                rmdir(self.slice)
            }

            /// What runs a command in the group.
            var command: [String] {
                ["sh", "-c", "echo $$ > '\(self.path)/cgroup.procs' && exec \"$@\"", "sh"]
            }
        }

        @Test(
            .enabled(if: groups != nil),
            arguments: [
                ("app-org.example.Player-1.scope", "unit"), ("app-gnome-org.example.Player-77.scope", "unit"),
                ("org.example.Player.service", "unit"), ("app-org.example.Other-1.scope", "name"),
            ])
        func aUnitProvesAnApp(_ unit: String, _ proof: String) throws {
            let stage = try self.stage()
            let group = try Group(unit)
            let answer = try self.register(stage, by: group.command)
            #expect(answer.contains("\"identity\": \"\(proof)\""), "\(answer)")
            #expect(answer.contains("app ok [\"\(proof)\"]"), "\(answer)")
        }

        // MARK: Sandboxes

        /// What runs a command in a sandbox as Flatpak makes them: with bubblewrap, and a file at its root.
        private func sandbox(of app: String, _ stage: Stage) throws -> [String] {
            let path = "\(stage.bus.directory)/info"
            let file = try #require(fopen(path, "w"))
            fputs("[Application]\nname=\(app)\nruntime=runtime/org.example.Platform/x86_64/1\n", file)
            try #require(fclose(file) == 0)
            let source = Programs.source("Tests")
            return [
                "sh", "-c", "exec 9<'\(path)' && exec \"$@\"", "sh", "bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind",
                "/etc", "/etc", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink",
                "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--ro-bind", source, source, "--bind",
                stage.bus.directory, stage.bus.directory, "--ro-bind-data", "9", "/.flatpak-info",
            ]
        }

        @Test(arguments: [(app, "flatpak"), ("org.example.Other", "name")])
        func aSandboxProvesAnApp(_ app: String, _ proof: String) throws {
            let stage = try self.stage()
            let answer = try self.register(stage, by: try self.sandbox(of: app, stage))
            #expect(answer.contains("\"identity\": \"\(proof)\""), "\(answer)")
        }

        /// What was proven once is asked for from then on, also by a broker that starts anew.
        @Test func whoIsProvenWorseIsNotTheApp() throws {
            let stage = try self.stage()
            let sandbox = try self.sandbox(of: Self.app, stage)
            #expect(try self.register(stage, durable: true).contains("\"identity\": \"name\""))
            #expect(try self.register(stage, by: sandbox).contains("\"identity\": \"flatpak\""))
            for _ in 0..<2 {
                let answer = try self.register(stage)
                #expect(
                    answer.contains(
                        "IdentityMismatch: '\(Self.app)' was once proven by its flatpak, and you are not"), "\(answer)")
                #expect(try self.register(stage, by: sandbox).contains("\"identity\": \"flatpak\""))
                try stage.kill(stage.broker)
                try self.start(stage)
            }
            #expect(try stage.jostle("forget", Self.app).status == 0)
            #expect(try self.register(stage).contains("\"identity\": \"name\""))
        }
    }
}
