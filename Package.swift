// swift-tools-version: 6.2
import PackageDescription

/// What every target is built with. Warnings are errors; imports are internal unless they say otherwise.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]
/// For the targets that touch C: every raw operation says `unsafe`.
let audited: [SwiftSetting] = strict + [.strictMemorySafety()]

/// Not optimised, and compiled in one go, as nobody waits to read the module.
let plain: [SwiftSetting] = [
    .unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"], .when(configuration: .release))
]
/// `make build-all` sets this. Then only daemons, and whoever speaks to a whole fleet, are optimised as they ship: commands, apps
/// and what tests run on take longer to optimise than they ever run.
let isTested = Context.environment["JOSTLE_TESTED"] != nil
let unhurried: [SwiftSetting] = isTested ? plain : []

/// A pure module: nothing but the standard library and other pure modules.
func pure(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict + settings)
}

/// A module that reaches the system: C libraries, descriptors, the bus.
func shell(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: audited)
}

func program(
    _ name: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = [], exclude: [String] = [],
    resources: [Resource] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources,
        swiftSettings: audited + settings)
}

/// An app that uses the client library.
func example(_ name: String, path: String? = nil) -> Target {
    .executableTarget(
        name: name, dependencies: ["JostleClient"], path: path, swiftSettings: strict + unhurried)
}

/// For what is written in C: SwiftPM links it as if it were Swift; in embedded Swift there is no runtime.
///
/// Without this a baseline would load one, and its start and its memory would be no measure.
let withoutRuntime = LinkerSetting.unsafeFlags(["-enable-experimental-feature", "Embedded", "-no-static-stdlib"])

/// A program in C that tests or the benchmark start; warnings are errors here too.
func helper(_ name: String, path: String? = nil, _ dependencies: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: path,
        cSettings: [
            .define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
            // A square root is one instruction then, and needs no library.
            .unsafeFlags(["-fno-math-errno"]),
        ],
        linkerSettings: [withoutRuntime])
}

/// Tests run once, so that nothing is gained by optimising them. What they are loaded with is shared, whatever the programs
/// have.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, swiftSettings: strict + plain,
        linkerSettings: [.unsafeFlags(["-no-static-stdlib"], .when(configuration: .release))])
}

/// `make fuzz` sets this: the fuzz targets need a main of the fuzzer's, so they are no part of an ordinary build.
let isFuzzing = Context.environment["JOSTLE_FUZZ"] != nil
let fuzzTargets: [Target] =
    isFuzzing ? [shell("Fuzz", ["FuzzTargets"])] : []
let fuzzProducts: [Product] = isFuzzing ? [.library(name: "JostleFuzz", type: .static, targets: ["Fuzz"])] : []

let package = Package(
    name: "jostle",
    products: [
        .library(name: "JostleClient", targets: ["JostleClient"]),
        .executable(name: "jostle", targets: ["jostle"]),
        .executable(name: "jostle-sensord", targets: ["jostle-sensord"]),
        .executable(name: "jostle-brokerd", targets: ["jostle-brokerd"]),
        .executable(name: "jostle-focus", targets: ["jostle-focus"]),
        .executable(name: "jostle-bridge", targets: ["jostle-bridge"]),
        .executable(name: "jostle-fleet", targets: ["jostle-fleet"]),
        .executable(name: "jostle-bench", targets: ["jostle-bench"]),
        // Only to be preloaded by the benchmark.
        .library(name: "malloc-count", type: .dynamic, targets: ["malloc-count"]),
        // Only to be preloaded by tests.
        .library(name: "disk-faults", type: .dynamic, targets: ["disk-faults"]),
        .library(name: "clock-jump", type: .dynamic, targets: ["clock-jump"]),
        .library(name: "hanging-reads", type: .dynamic, targets: ["hanging-reads"]),
    ] + fuzzProducts,
    targets: [
        // C at the edge.
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CInih", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CResolved", cSettings: [.define("_GNU_SOURCE")]),
        .systemLibrary(name: "CUdev", pkgConfig: "libudev", providers: [.apt(["libudev-dev"])]),
        .systemLibrary(name: "CEvdev", pkgConfig: "libevdev", providers: [.apt(["libevdev-dev"])]),
        .systemLibrary(name: "CGps", pkgConfig: "libgps", providers: [.apt(["libgps-dev"])]),
        .systemLibrary(
            name: "CWayland", pkgConfig: "wayland-client", providers: [.apt(["libwayland-dev", "libwayland-bin"])]),
        .systemLibrary(
            name: "CXCB", pkgConfig: "xcb", providers: [.apt(["libxcb1-dev", "libxcb-res0-dev", "libxau-dev"])]),
        .target(
            name: "CWlrToplevel", dependencies: ["CWayland"],
            exclude: ["generate", "wlr-foreign-toplevel-management-unstable-v1.xml"]),
        .target(name: "CLinux"),

        // The pure core.
        .target(name: "Motion", swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),
        pure("Pictures", [], unhurried),
        pure("Traces", ["Motion"]),
        pure("Detection", ["Motion"]),
        pure("Replay", ["Motion", "Pictures", "Traces", "Detection", "SensorCore"], unhurried),
        pure("Teaching", ["Motion", "Traces", "Detection"], unhurried),
        pure("Arbitration", ["Motion"]),
        pure("Background", ["Arbitration", "Motion"]),
        pure("Scenarios", ["Arbitration", "Motion"]),
        pure("Reports", ["Motion", "Pictures"], unhurried),
        pure("SensorCore", ["Motion", "Detection"]),
        pure("DeviceCore", ["Motion"]),
        pure("Processes", ["Motion"]),
        pure("BrokerCore", ["Motion", "Detection", "Arbitration", "Background", "Processes"]),
        pure("FocusCore", ["Arbitration", "Motion", "Processes"]),
        pure("FleetCore", ["Arbitration", "Motion"]),

        // The shell.
        shell("PolicyFiles", ["Arbitration", "Detection", "FleetCore", "Motion", "CInih"]),
        shell("Journal", ["Arbitration", "Background", "Detection", "Motion", "Loop", "CSQLite", "CLinux"]),
        shell("Loop", ["CLinux"]),
        shell("DBus", ["CDBus", "Loop", "Motion"]),
        shell("MQTT", ["CMosquitto", "CResolved", "Loop", "Motion"]),
        shell("Signatures", ["CCrypto"]),
        shell("FleetFiles", ["FleetCore", "PolicyFiles", "Arbitration", "Loop"]),
        shell("Protocol", ["Motion", "DBus"]),
        shell("DaemonSupport", ["Loop", "DBus", "Motion", "Processes"]),
        shell("Devices", ["DeviceCore", "Motion", "Loop", "CLinux", "CUdev", "CEvdev", "CGps"]),
        shell("JostleClient", ["Protocol", "Motion", "DBus", "Loop"]),

        // The programs.
        program(
            "jostle-sensord",
            [
                "SensorCore", "Detection", "DeviceCore", "Devices", "Traces", "PolicyFiles", "Arbitration", "Motion",
                "Protocol", "DBus", "Loop", "DaemonSupport",
            ]),
        program(
            "jostle-brokerd",
            [
                "BrokerCore", "Background", "Journal", "PolicyFiles", "Arbitration", "Scenarios", "Detection", "Motion",
                "Protocol", "DBus", "Loop", "DaemonSupport",
            ],
            exclude: ["event.order", "event.profile", "make-profile"]),
        program(
            "jostle-focus",
            [
                "FocusCore", "CWayland", "CWlrToplevel", "CXCB", "Arbitration", "Motion", "Protocol", "DBus", "Loop",
                "DaemonSupport", "Processes",
            ],
            exclude: ["gnome"], resources: [.embedInCode("kwin.js")]),
        program(
            "jostle-bridge",
            [
                "FleetCore", "FleetFiles", "Signatures", "MQTT", "Journal", "PolicyFiles", "Arbitration", "Detection",
                "Motion", "Protocol", "DBus", "Loop", "DaemonSupport",
            ]),
        program(
            "jostle-fleet",
            ["FleetCore", "MQTT", "Signatures", "PolicyFiles", "Arbitration", "Motion", "Loop", "DaemonSupport"]),
        program(
            "jostle",
            [
                "JostleClient", "Journal", "Replay", "Reports", "Teaching", "Arbitration", "PolicyFiles", "Pictures",
                "Scenarios", "Detection", "Traces", "Motion", "Protocol", "DBus", "Loop", "DaemonSupport",
            ],
            unhurried),

        program(
            "jostle-bench",
            [
                "Detection", "Replay", "Teaching", "Traces", "Arbitration", "Background", "Journal", "PolicyFiles",
                "Motion", "TestSupport", "DaemonSupport", "Protocol", "DBus", "Loop",
            ],
            unhurried),

        // Apps of the demos.
        example("example-background"),
        example("example-pomodoro"),
        example("example-refresh"),
        example("example-tracker"),

        // How an app uses the client library; run by the tests.
        example("example-watch", path: "docs/examples/swift/watch"),
        example("example-careful", path: "docs/examples/swift/careful"),
        example("example-woken", path: "docs/examples/swift/woken"),

        // What tests and the benchmark run on, and what the benchmark compares with.
        .target(name: "CTestSupport", cSettings: [.define("_GNU_SOURCE")]),
        .target(
            name: "TestSupport", dependencies: ["CTestSupport"], exclude: ["Devices", "device-bed.py"],
            swiftSettings: audited + unhurried),
        helper("jostle-baseline", ["CDBus"]),
        helper("test-tether"),
        helper("test-dbus-broker", ["CDBus"]),
        helper("test-attacker", path: "Tests/Attacker", ["CDBus"]),
        helper("test-rows", path: "Tests/Rows", ["CSQLite"]),
        .executableTarget(
            name: "test-witness", dependencies: ["JostleClient", "Loop"], path: "Tests/Witness", swiftSettings: audited),
        .target(
            name: "malloc-count",
            cSettings: [
                .define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
                // Or the compiler turns what is written here into calls of itself.
                .unsafeFlags(["-fno-builtin"]),
            ],
            linkerSettings: [withoutRuntime]),
        .target(
            name: "disk-faults", path: "Tests/DiskFaults",
            cSettings: [
                .define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
            ],
            linkerSettings: [withoutRuntime]),
        .target(
            name: "clock-jump", path: "Tests/ClockJump",
            cSettings: [
                .define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
            ],
            linkerSettings: [withoutRuntime]),
        .target(
            name: "hanging-reads", path: "Tests/HangingReads",
            cSettings: [
                .define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
            ],
            linkerSettings: [withoutRuntime]),
        .target(name: "Randomness", path: "Tests/Randomness", swiftSettings: strict),
        .target(
            name: "BusGrammar", dependencies: ["Randomness"], path: "Tests/BusGrammar",
            swiftSettings: strict + unhurried),
        .executableTarget(
            name: "test-stranger", dependencies: ["BusGrammar"], path: "Tests/Stranger",
            swiftSettings: audited + unhurried),
        .target(
            name: "DetectionModel", dependencies: ["Detection", "Motion", "Randomness"], path: "Tests/DetectionModel",
            swiftSettings: strict),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Arbitration", "DBus", "Detection", "DetectionModel", "DeviceCore", "Devices", "FleetCore", "FocusCore",
                "Journal", "Motion", "PolicyFiles", "Processes", "Protocol", "Scenarios", "Traces",
            ],
            path: "Tests/FuzzTargets", swiftSettings: strict + unhurried),

        .target(
            name: "Simulation",
            dependencies: [
                "Arbitration", "Background", "BrokerCore", "DBus", "DeviceCore", "Journal", "Motion", "Randomness",
                "SensorCore",
            ],
            path: "Tests/Simulation", swiftSettings: strict),
        .executableTarget(name: "soak", dependencies: ["Simulation"], path: "Tests/Soak", swiftSettings: audited),

        tests("MotionTests", ["Motion", "Randomness"]),
        tests("PicturesTests", ["Pictures"]),
        tests("ReportsTests", ["Reports", "Pictures", "TestSupport"]),
        tests("TracesTests", ["Traces", "Motion", "Randomness"]),
        tests("DetectionTests", ["Detection", "DetectionModel", "Loop", "Motion", "Randomness", "TestSupport"]),
        tests("TeachingTests", ["Teaching", "Detection", "Motion", "Randomness", "Traces"]),
        tests("ReplayTests", ["Replay", "Traces", "Detection", "Motion", "Randomness", "SensorCore"]),
        tests("ArbitrationTests", ["Arbitration", "Loop", "Motion", "Randomness"]),
        tests("BackgroundTests", ["Background", "Arbitration", "Loop", "Motion", "Randomness"]),
        tests(
            "JournalTests",
            ["Journal", "Arbitration", "Background", "Detection", "Motion", "Randomness", "TestSupport"]),
        tests("PolicyFilesTests", ["PolicyFiles", "Arbitration", "FleetCore", "Loop", "Motion", "Randomness"]),
        tests("ScenariosTests", ["Scenarios", "PolicyFiles", "Arbitration", "Motion", "Randomness"]),
        tests("SensorCoreTests", ["SensorCore", "Detection", "Traces", "Motion", "Randomness"]),
        tests("DeviceCoreTests", ["DeviceCore", "Motion"]),
        tests(
            "BrokerCoreTests",
            [
                "BrokerCore", "Arbitration", "Background", "Detection", "Loop", "Motion", "Randomness", "Scenarios",
                "Traces",
            ]),
        tests("FocusCoreTests", ["FocusCore", "Arbitration", "Motion", "Processes"]),
        tests("FleetCoreTests", ["FleetCore", "Motion", "Randomness"]),
        tests("SignaturesTests", ["Signatures", "TestSupport"]),
        tests("FleetFilesTests", ["FleetFiles", "FleetCore", "PolicyFiles", "Loop", "Motion", "Randomness"]),
        tests("MQTTTests", ["MQTT", "Loop", "TestSupport"]),
        tests("ProcessesTests", ["Processes", "Motion"]),
        tests("LoopTests", ["Loop", "Randomness"]),
        tests("DaemonSupportTests", ["DaemonSupport", "DBus", "Loop", "CLinux", "Motion", "Randomness"]),
        tests("DBusTests", ["DBus", "CDBus", "Loop", "Motion", "TestSupport", "Randomness"]),
        tests("JostleClientTests", ["JostleClient", "DBus", "Loop", "Motion", "Protocol", "TestSupport"]),
        tests("ProtocolTests", ["Protocol", "DBus", "Motion"]),
        tests("TestSupportTests", ["TestSupport", "CTestSupport"]),
        tests("BusPolicyTests", ["TestSupport"]),
        tests("BaselineTests", ["TestSupport"]),
        tests("FuzzTests", ["FuzzTargets", "DetectionModel", "Loop"]),
        tests("SimulationTests", ["Simulation", "TestSupport"]),
        tests("BenchTests", ["jostle-bench", "TestSupport"]),
        tests(
            "CommandTests",
            [
                "jostle", "Arbitration", "BrokerCore", "DBus", "DaemonSupport", "Detection", "JostleClient", "Journal",
                "Motion", "PolicyFiles", "Protocol", "Scenarios", "TestSupport", "Traces",
            ]),
        // Looks into no program, so that it is built while they are.
        tests(
            "SystemTests",
            [
                "CDBus", "DaemonSupport", "FleetCore", "JostleClient", "Journal", "Loop", "MQTT", "Motion",
                "PolicyFiles", "Randomness", "Signatures", "TestSupport", "Traces",
            ]),
    ] + fuzzTargets
)
