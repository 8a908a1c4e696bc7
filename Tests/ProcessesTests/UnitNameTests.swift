import Motion
import Processes
import Testing

/// Which app a unit is for, by its name.
@Suite struct UnitNameTests {
    private static func purpose(_ unit: String) -> UnitName.Purpose? {
        let path = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/\(unit)\n"
        return UnitName(ofGroups: Array(path.utf8))?.purpose
    }

    @Test(
        arguments: [
            ("app-gnome-firefox\\x2desr-2113.scope", .app("firefox-esr")),
            ("app-org.kde.konsole-d9cd7b1f0f5b4e9c.scope", .app("org.kde.konsole")),
            ("app-firefox@7e3f0c6b2f1c4e0d.service", .app("firefox")),
            ("app-org.gnome.Software@autostart.service", .app("org.gnome.Software")),
            ("app-gnome\\x2dkeyring\\x2dssh@autostart.service", .app("gnome-keyring-ssh")),
            ("app-flatpak-org.example.App-4711.scope", .flatpak("org.example.App")),
            // An app that is called as Flatpak's launcher is.
            ("app-flatpak-4711.scope", .app("flatpak")),
            ("dbus-:1.2-org.gnome.Calculator@0.service", .app("org.gnome.Calculator")),
            ("org.example.App.service", .app("org.example.App")),
            ("org.example.My\\x2dApp.service", .app("org.example.My-App")),
            ("snap.firefox.firefox-1ba3c1d4-8d6f-4d80-8f8b-26d4e6f0a1b2.scope", .snap("firefox", app: "firefox")),
            (
                "snap.gnome-system-monitor.gnome-system-monitor-1ba3c1d4-8d6f-4d80-8f8b-26d4e6f0a1b2.scope",
                .snap("gnome-system-monitor", app: "gnome-system-monitor")
            ),
            (
                "snap.firefox.firefox.1ba3c1d4-8d6f-4d80-8f8b-26d4e6f0a1b2.scope", .snap("firefox", app: "firefox")
            ),
            ("snap.hello_two.world.service", .snap("hello_two", app: "world")),
        ] as [(String, UnitName.Purpose)])
    func aUnitIsForAnApp(_ unit: String, _ expected: UnitName.Purpose) {
        #expect(Self.purpose(unit) == expected)
    }

    @Test(arguments: [
        "vte-spawn-1ba3c1d4-8d6f-4d80-8f8b-26d4e6f0a1b2.scope", "session-2.scope", "init.scope", "dbus.service",
        "pipewire.service", "gnome-session-x11@gnome.service", "app-.scope", "app-a.scope", "app--a-1.scope",
        "app-a-b-c-1.scope", "app-bad\\x2-1.scope", "app-bad\\xzz-1.scope", "app-bad\\x00-1.scope",
        "app-bad\\xff-1.scope", "snap.firefox.scope", "snap..a-1.scope", "snap.a.b.scope", "snap.a.b.c.d.scope",
        "snap.a.service", "snap.a.b.c.service", "tmux-spawn-1.scope", "run-u12.service",
    ])
    func otherUnitsAreForNoApp(_ unit: String) {
        #expect(Self.purpose(unit) == nil)
    }

    /// The first group below the slices is the unit's. Whatever runs in it may name groups inside as it likes: also so that a
    /// slash and a name's beginning are one character to those who read letters.
    @Test(arguments: [
        "run-1.scope/app-org.example.App-1.scope", "run-1.scope/a.slice/app-org.example.App-1.scope",
        "run-1.scope/\u{301}a.slice/app-org.example.App-1.scope",
        "run-1.scope/\u{200D}.slice/app-org.example.App-1.scope",
    ])
    func nobodyIsAnotherUnitByTheNamesOfGroupsInside(_ groups: String) {
        let path = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/\(groups)\n"
        #expect(UnitName(ofGroups: Array(path.utf8))?.text == "run-1.scope")
    }
}
