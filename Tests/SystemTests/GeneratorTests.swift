import TestSupport
import Testing

extension Surroundings {
    /// What makes code or proxies of the interface files takes all of them, and what it makes works with the daemons.
    @Suite(.serialized) struct Generators {
        private static let files = Programs.source("dbus")

        /// Runs a shell command in an empty directory; `$1` has the interface files, `$2` the examples.
        private func run(_ script: String) throws -> Tool.Result {
            try Tool.run(
                [
                    "sh", "-ec",
                    """
                    directory=$(mktemp -d)
                    trap 'rm -rf "$directory"' EXIT
                    cd "$directory"
                    \(script)
                    """, "sh", Self.files, Programs.source("docs/examples"),
                ], timeout: .seconds(300))
        }

        /// What each makes of a file `$file`.
        static let generators = [
            "gdbus-codegen": """
            gdbus-codegen --generate-c-code code --interface-prefix org.jostle. --c-namespace Jostle \
            --c-generate-autocleanup all "$file"
            cc -Wall -Werror -fsyntax-only code.c $(pkg-config --cflags gio-unix-2.0)
            """,
            "qdbusxml2cpp": """
            cp "$2/qt/jostle-types.h" .
            qdbusxml2cpp -N -i jostle-types.h -p code "$file"
            qdbusxml2cpp -N -i jostle-types.h -a adaptor "$file"
            """,
        ]

        @Test(arguments: generators.keys.sorted())
        func takesEveryFile(_ generator: String) throws {
            let made = try #require(Self.generators[generator])
            let result = try self.run("for file in \"$1\"/*.xml; do \(made)\necho made; done")
            #expect(result == Tool.Result(status: 0, stdout: String(repeating: "made\n", count: 7), stderr: ""))
        }

        /// A name that is a keyword, or a type that is not declared, shows only here.
        @Test func cxxReadsWhatQtMakes() throws {
            let result = try self.run(
                """
                for file in "$1"/*.xml; do
                    qdbusxml2cpp -N -i jostle-types.h -p "$(basename "$file" .xml)" "$file"
                    echo "#include \\"$(basename "$file" .xml).h\\"" >> all.cpp
                done
                echo 'void all() { registerJostleTypes(); }' >> all.cpp
                c++ -Wall -Werror -fPIC -fsyntax-only -I"$2/qt" all.cpp $(pkg-config --cflags Qt5DBus)
                """)
            #expect(result == Tool.Result(status: 0, stdout: "", stderr: ""))
        }

        /// The tests above would notice if the annotations were not there.
        @Test func theAnnotationsAreWhatHelps() throws {
            let bare = "mkdir bare; for file in \"$1\"/*.xml; do grep -v \"$0\" \"$file\" > bare/${file##*/}; done"
            let qt = try self.run(
                bare.replacing("$0", with: "QtTypeName") + "; qdbusxml2cpp -p code bare/org.jostle.Broker1.xml")
            #expect(qt.status == 1 && qt.stderr.contains("Got unknown type"), "\(qt)")
            let glib = try self.run(
                bare.replacing("$0", with: "UnixFD") + """
                    ; make -s -f "$2/Makefile" BUILD=. INTERFACES=bare ./hold-gdbus
                    """)
            #expect(glib.status == 2 && glib.stderr.contains("error:"), "\(glib)")
        }

        static let bindings = [
            "dbus-fast": ["python3", "Tests/Scripts/proxies.py", "dbus-fast"],
            "jeepney": ["python3", "Tests/Scripts/proxies.py", "jeepney"],
            "PyGObject": ["python3", "Tests/Scripts/proxies.py", "PyGObject"],
            "GJS": ["gjs", "-m", "Tests/Scripts/proxies.js"],
        ]

        @Test(arguments: bindings.keys.sorted())
        func makesProxies(_ binding: String) throws {
            let stage = try Stage()
            let command = try #require(Self.bindings[binding]).map {
                $0.hasPrefix("Tests/") ? Programs.source($0) : $0
            }
            #expect(
                try stage.run(command + [Self.files])
                    == Tool.Result(status: 0, stdout: "\(binding): ok\n", stderr: ""))
        }

        @Test func generatedCodeHoldsAnAssertion() throws {
            let stage = try Stage()
            let app = "org.example.Hold"
            let program = try BackgroundProgram(
                tool: [try Examples.compiled("hold-gdbus"), app], environment: stage.environment)
            _ = try program.waitForLine { $0 == "held" }
            let object = Stage.Object.app(app)
            #expect(try stage.property("Assertions", at: object).hasPrefix("aa{sv} 1 2 \"name\" s \"example\" "))
            _ = try program.terminate()
        }
    }
}
