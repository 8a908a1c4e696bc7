import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// What `make install` puts where.
    @Suite(.serialized) struct Installation {
        /// Installs everything below a folder of its own, and runs a script there.
        ///
        /// - Parameter settings: what `make` is told besides.
        private func install(_ settings: String..., then script: String) throws -> Tool.Result {
            let install = """
                directory=$(mktemp -d)
                trap 'rm -rf "$directory"' EXIT
                source=$1 programs=$2
                shift 2
                make -s -C "$source" manual PROGRAMS_DIR="$programs" MANUAL_DIR="$directory/man"
                make -s -C "$source" install DESTDIR="$directory" PREFIX=/opt/jostle PROGRAMS_DIR="$programs" \\
                    MANUAL_DIR="$directory/man" "$@"
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
                    find . -type f -o -type l | sort
                    cd share/doc/jostle
                    named=$(grep -rhoE 'docs/[A-Za-z0-9_/.-]*[A-Za-z0-9]' ../../dbus-1 ../../../lib ../../jostle README.md | sort -u)
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
                "./share/polkit-1/actions/org.jostle.sensors.policy",
            ] { #expect(files.contains(file), "\(file)") }
        }

        /// Whoever lets the daemons run as another user says so once.
        @Test func theUserOfTheDaemonsIsOneEverywhere() throws {
            let result = try self.install(
                "SERVICE_USER=mover",
                then: """
                    grep -rl mover share/dbus-1 lib | sort
                    grep -rhE 'user="jostle"|^u jostle|User=jostle|jostle jostle' share/dbus-1 lib || true
                    """)
            let files = [
                "lib/systemd/system/jostle-brokerd.service", "lib/systemd/system/jostle-sensord.service",
                "lib/sysusers.d/jostle.conf", "lib/tmpfiles.d/jostle.conf", "lib/udev/rules.d/60-jostle.rules",
                "share/dbus-1/system-services/org.jostle.Sensors1.service", "share/dbus-1/system.d/org.jostle.conf",
            ]
            #expect(result.stdout == files.map { "\($0)\n" }.joined(), "\(result)")
        }
    }
}
