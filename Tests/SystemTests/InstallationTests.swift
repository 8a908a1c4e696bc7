import Foundation
import PolicyFiles
import TestSupport
import Testing

extension Surroundings {
    /// What `make install` puts where.
    @Suite(.serialized) struct Installation {
        /// Installs below a folder of its own, and runs a script there.
        ///
        /// - Parameters:
        ///   - targets: what of the makefile is made.
        ///   - settings: what `make` is told besides.
        ///   - script: in it `make_more` installs more at the same place.
        private func install(
            _ targets: [String] = ["install"], _ settings: String..., then script: String
        ) throws -> Tool.Result {
            let install = """
                directory=$(mktemp -d)
                trap 'rm -rf "$directory"' EXIT
                source=$1 programs=$2
                shift 2
                make_more() {
                    make -s -C "$source" DESTDIR="$directory" PREFIX=/opt/jostle PROGRAMS_DIR="$programs" \\
                        MANUAL_DIR="$directory/man" "$@"
                }
                make_more manual
                for target in \(targets.joined(separator: " ")); do make_more $target "$@"; done
                cd "$directory/opt/jostle"

                """
            return try Tool.run(
                ["sh", "-ec", install + script, "sh", Programs.source(""), Programs.directory] + settings,
                timeout: .seconds(120))
        }

        /// Programs, and all pages and examples; whatever an installed file names of them is there.
        @Test func whatInstalledFilesNameIsInstalled() throws {
            let result = try self.install(
                then: """
                    bin/jostle --version >&2
                    for page in jostle jostle-watch jostle-policy-check jostle-sensord jostle.app org.jostle.Broker1.App; do
                        MANPATH="$PWD/share/man" man -w $page >&2 || echo "missing: $page"
                    done
                    find . ../../etc ../../usr -type f -o -type l | sort
                    cd share/doc/jostle
                    named=$(grep -rhoE 'docs/[A-Za-z0-9_/.-]*[A-Za-z0-9]' ../../dbus-1 ../../../lib ../../jostle \\
                        ../../../../../etc ../../../../../usr README.md | sort -u)
                    test -n "$named"
                    for file in $named; do test -e "$file" || echo "missing: $file"; done
                    """)
            #expect(result.status == 0, "\(result.stderr)")
            let files = result.stdout.split(separator: "\n").map(String.init)
            #expect(!files.contains { $0.hasPrefix("missing: ") }, "\(files.filter { $0.hasPrefix("missing: ") })")
            let sources = try Tool.run(["sh", "-c", "cd \"$1\" && find docs -type f", "sh", Programs.source("")]).stdout
            for file in sources.split(separator: "\n") where !file.contains("__pycache__") {
                #expect(files.contains("./share/doc/jostle/\(file)"), "\(file)")
            }
            for file in [
                "./bin/jostle", "./libexec/jostle-brokerd", "./libexec/jostle-sensord", "./share/doc/jostle/README.md",
                "./share/doc/jostle/docs/traces.md", "./share/doc/jostle/docs/sensors.md",
                "./share/doc/jostle/docs/examples/org.example.Woken.service",
                "./share/dbus-1/services/org.jostle.Broker1.service", "./share/man/man8/jostle-brokerd.8",
                "./share/man/man5/jostle.policy.5", "./share/man/man7/jostle.detectors.7",
                "./share/bash-completion/completions/jostle", "./share/zsh/site-functions/_jostle",
                "./share/bash-completion/completions/jostle-brokerd",
                "./share/fish/vendor_completions.d/jostle.fish",
                "../../usr/share/polkit-1/actions/org.jostle.sensors.policy",
                "../../etc/dbus-1/system.d/org.jostle.conf",
            ] { #expect(files.contains(file), "\(file)") }
        }

        /// The policy that ships is read wherever a PREFIX needs no telling.
        @Test func policyIsInstalledWhereItIsRead() throws {
            let result = try self.install(
                then: """
                    for prefix in /usr /usr/local; do make_more install PREFIX=$prefix; done
                    cd ../..
                    find usr -path '*/policy.d/10-default.conf'
                    """)
            let installed = result.stdout.split(separator: "\n").map { "/\($0)" }
            let read = PolicyDirectories.system.filter { $0.hasPrefix("/usr/") }.map { "\($0)/10-default.conf" }
            #expect(Set(installed) == Set(read) && result.status == 0, "\(result)")
        }

        /// Whoever lets the daemons run as another user says so once.
        @Test func theUserOfTheDaemonsIsOneEverywhere() throws {
            let result = try self.install(
                ["install"], "SERVICE_USER=mover",
                then: """
                    cd ../..
                    grep -rl mover etc usr opt/jostle/share/dbus-1 opt/jostle/lib | sort
                    grep -rhE 'user="jostle"|^u jostle|User=jostle|unix-user:jostle|jostle jostle' \\
                        etc usr opt/jostle/share/dbus-1 opt/jostle/lib || true
                    """)
            let files = [
                "etc/dbus-1/system.d/org.jostle.conf",
                "opt/jostle/lib/systemd/system/jostle-brokerd.service",
                "opt/jostle/lib/systemd/system/jostle-sensord.service",
                "opt/jostle/lib/sysusers.d/jostle.conf", "opt/jostle/lib/udev/rules.d/60-jostle.rules",
                "opt/jostle/share/dbus-1/system-services/org.jostle.Sensors1.service",
                "usr/share/polkit-1/actions/org.jostle.sensors.policy",
            ]
            #expect(result.stdout == files.map { "\($0)\n" }.joined(), "\(result)")
        }

        /// Whoever installs again does not take the other name from the reader.
        @Test func theSensorProxyIsInstalledBeforeOrAfter() throws {
            let list = "cd ../.. && find etc usr opt -type f -exec sha256sum {} + | sort -k 2\n"
            let after = try self.install(["install", "install-sensor-proxy"], then: list)
            #expect(after.stdout.contains("net.hadess.SensorProxy.service") && after.status == 0, "\(after)")
            let before = try self.install(
                ["install-sensor-proxy", "install"],
                then: "grep -q -- ' --sensor-proxy' share/dbus-1/system-services/org.jostle.Sensors1.service\n" + list)
            #expect(before.stdout == after.stdout && before.status == 0, "\(before.stderr)")
        }

        /// Desktops wait for the other name, and start nobody who has it: udev starts the reader where there is a sensor, with that name.
        @Test func aSensorStartsTheReaderForDesktops() throws {
            let result = try self.install(
                ["install", "install-sensor-proxy"],
                then: """
                    for unit in $(sed -n 's/.*SYSTEMD_WANTS}+="\\([^"]*\\)".*/\\1/p' lib/udev/rules.d/*.rules); do
                        grep -q -- ' --sensor-proxy' lib/systemd/system/$unit.d/*.conf
                        grep -h '^ExecStart=/' lib/systemd/system/$unit
                    done
                    """)
            let isStarted = result.stdout == "ExecStart=/opt/jostle/libexec/jostle-sensord --bus system\n"
            #expect(isStarted && result.status == 0, "\(result)")
        }

        /// A package that comes to a machine with a sensor has udev look anew at every kind of device that may be one.
        @Test func aSensorThatIsThereAlreadyStartsTheReader() throws {
            let code = """
                for subsystem in $(sed -n 's/^SUBSYSTEM=="\\([^"]*\\)".*/\\1/p' "$1" | tr '|' ' '); do
                    grep -q -- " --subsystem-match=$subsystem " "$2" || echo "$subsystem"
                done
                """
            let result = try Tool.run([
                "sh", "-ec", code, "sh", Programs.source("udev/61-jostle-sensor-proxy.rules"),
                Programs.source("debian/jostle-sensor-proxy.postinst"),
            ])
            #expect(result.stdout.isEmpty && result.status == 0, "\(result)")
        }

        /// The bus leaves out the rules of a user who is not there yet when they are unpacked. A device may have the reader started at once.
        @Test func theBusKnowsTheUserBeforeTheReaderIsStarted() throws {
            let script = try Tool.run(["cat", Programs.source("debian/jostle.postinst")]).stdout
            let lines = script.split(separator: "\n")
            let user = try #require(lines.firstIndex { $0 == "#DEBHELPER#" })
            let bus = try #require(lines.firstIndex { $0.contains(" reload dbus.service") })
            let devices = try #require(lines.firstIndex { $0.contains("udevadm trigger") })
            #expect(user < bus && bus < devices)
        }

        /// What a folder of one's own is not looked into for is said, unless it is for a packager.
        @Test func aPrefixThatNobodyLooksIntoIsTold() throws {
            let result = try self.install(
                then: """
                    make_more install DESTDIR= PREFIX="$directory/own" BUS_POLICY="$directory/bus" POLKIT_ACTIONS="$directory/polkit"
                    ls "$directory/bus" "$directory/polkit" >&2
                    """)
            #expect(result.stdout.hasPrefix("Nobody looks below /") && result.status == 0, "\(result)")
            #expect(result.stdout.contains("(POLICY=)"), "\(result)")
            #expect(result.stderr.contains("org.jostle.sensors.policy"), "\(result)")
        }
    }
}
