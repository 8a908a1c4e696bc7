import Arbitration
import BrokerCore
import Motion
import Testing

/// What the files of a process prove about the app that it says it is.
@Suite struct ProcessEvidenceTests {
    private static let app = "org.example.App"

    private static func proof(_ app: String = app, sandbox: String? = nil, groups: String = "") -> IdentityProof {
        ProcessEvidence(sandbox: sandbox.map { Array($0.utf8) }, groups: Array(groups.utf8)).proof(of: AppID(app))
    }

    // MARK: Sandboxes

    @Test(
        arguments: [
            ("[Application]\nname=org.example.App\nruntime=runtime/org.example.Platform/x86_64/1\n", .flatpak),
            ("[Instance]\nname=org.example.Other\n\n[Application]\n name = org.example.App \r\n", .flatpak),
            ("[Application]\nname=org.example.App", .flatpak),
            ("[Application]\nname=org.example.Other\n", .name), ("[Application]\nname=org.example.App.Helper\n", .name),
            ("[Application]\nname=org.example.app\n", .name), ("[Application]\nname=\n", .name),
            ("[Application]\nname=org.example.Other\nname=org.example.App\n", .name),
            ("[Runtime]\nname=org.example.App\n", .name), ("name=org.example.App\n[Application]\n", .name),
            ("[Application]\n# name=org.example.App\n", .name), ("[Application]\nname\n", .name),
            ("[Application\nname=org.example.App\n", .name), ("", .name), ("\u{FFFD}\0[", .name),
        ] as [(String, IdentityProof)])
    func aSandboxIsThatOfOneApp(_ file: String, _ expected: IdentityProof) {
        #expect(Self.proof(sandbox: file) == expected)
        // A sandbox of another app is not outweighed by a unit.
        #expect(Self.proof(sandbox: file, groups: "0::/app.slice/app-org.example.App-1.scope\n") == expected)
    }

    // MARK: Units

    @Test(
        arguments: [
            // As desktops make them.
            ("app-org.example.App-1234.scope", .unit), ("app-gnome-org.example.App-1234.scope", .unit),
            ("app-flatpak-org.example.App-1234.scope", .unit), ("app-org.example.App.service", .unit),
            ("app-org.example.App@7e3f.service", .unit), ("app-kde-org.example.App@autostart.service", .unit),
            // As a bus makes them that has units started, and as an app brings its own.
            ("dbus-:1.2-org.example.App@3.service", .unit), ("dbus-org.example.App@3.service", .unit),
            ("org.example.App.service", .unit),
            // Others.
            ("app-org.example.Other-1234.scope", .name), ("app-org.example.App.scope", .name),
            ("app-org.example.App-.scope", .name), ("app--org.example.App-1.scope", .name),
            ("app-a-b-org.example.App-1.scope", .name), ("app-org.example.App-x-1.scope", .name),
            ("app-org.example.AppX-1.scope", .name), ("app-xorg.example.App-1.scope", .name),
            ("app-org.example.App-1.slice", .name), ("app-org.example.App-autostart.service", .name),
            ("app-other@org.example.App.service", .name), ("dbus-org.example.App.service", .name),
            ("session-org.example.App-1.scope", .name), ("org.example.App@1.service", .name),
            ("org.example.App.scope", .name), ("org.example.App", .name), ("dbus.service", .name), ("", .name),
        ] as [(String, IdentityProof)])
    func aUnitIsOneOfTheApp(_ unit: String, _ expected: IdentityProof) {
        let user = "/user.slice/user-1000.slice/user@1000.service/app.slice"
        for path in ["/system.slice", user, "\(user)/app-org.example.slice", "\(user)/app.slice/app-a.slice"] {
            #expect(Self.proof(groups: "0::\(path)/\(unit)\n") == expected, "\(path)")
        }
        // What runs deeper inside is still of the unit.
        #expect(Self.proof(groups: "0::/system.slice/\(unit.isEmpty ? "x" : unit)/payload/inner\n") == expected)
    }

    /// A dash inside of a part is written so that it is none.
    @Test func dashesAreEscaped() {
        let app = "org.example.My-App"
        for unit in ["app-org.example.My\\x2dApp-1.scope", "app-org.example.My\\x2dApp@1.service"] {
            #expect(Self.proof(app, groups: "0::/app.slice/\(unit)\n") == .unit)
        }
        #expect(Self.proof(app, groups: "0::/app.slice/org.example.My\\x2dApp.service\n") == .unit)
        for unit in ["app-org.example.My-App-1.scope", "app-org.example.My-App.service", "org.example.My-App.service"] {
            #expect(Self.proof(app, groups: "0::/app.slice/\(unit)\n") == .name)
        }
        #expect(Self.proof("App-1.x", groups: "0::/app.slice/app-App-1.x-2.scope\n") == .name)
    }

    @Test(
        arguments: [
            // The new hierarchy, the old one, and both.
            ("0::/app.slice/app-org.example.App-1.scope", .unit),
            ("5:name=systemd:/app.slice/app-org.example.App-1.scope", .unit),
            ("4:cpu,cpuacct:/x\n1:name=systemd:/app.slice/app-org.example.App-1.scope\n0::/", .unit),
            ("1:name=systemd:/\n0::/app.slice/app-org.example.App-1.scope", .unit),
            (
                "1:name=systemd:/app.slice/app-org.example.App-1.scope\n0::/app.slice/app-org.example.Other-1.scope",
                .name
            ),
            // Those of others, and what is no place below ours.
            ("4:memory:/app.slice/app-org.example.App-1.scope", .name),
            ("4:name=other:/app.slice/app-org.example.App-1.scope", .name),
            ("0::/../app.slice/app-org.example.App-1.scope", .name),
            ("0::app.slice/app-org.example.App-1.scope", .name),
            // A unit of another unit's making.
            ("0::/system.slice/other.service/app.slice/app-org.example.App-1.scope", .name),
            ("0::/docker/0123/system.slice/org.example.App.service", .name),
            // The manager of a user is no app.
            ("0::/user.slice/user-1000.slice/user@1000.service", .name),
            ("0::/user.slice/user-1000.slice/user@1000.service/init.scope", .name),
            ("0::/user.slice/user-1000.slice/session-2.scope/app-org.example.App-1.scope", .name),
            // Names that would mean something to the kernel have a mark.
            ("0::/system.slice/_org.example.App.service", .unit),
            ("0::/", .name), ("0:", .name), ("", .name), ("::::\n\n:", .name),
        ] as [(String, IdentityProof)])
    func aGroupIsThatOfAUnit(_ file: String, _ expected: IdentityProof) {
        #expect(Self.proof(groups: file) == expected)
    }
}
