import DBus
import Testing

@Suite struct BusAddressTests {
    @Test(arguments: [
        ("unix:path=/run/bus", false), ("tcp:host=localhost,port=1", false), ("nonce-tcp:host=localhost", false),
        ("unix:path=/a;tcp:host=localhost", false), ("unix:path=/a%3bunixexec:", false),
        ("unixexec:path=touch", true), ("autolaunch:", true), ("autolaunch:scope=user", true),
        ("unix:path=/a;unixexec:path=touch", true), ("launchd:env=X", true), ("systemd:", true),
        (" unix:path=/a", true),
    ])
    func whatLibdbusMayStartIsKnownByItsTransport(_ text: String, _ mayStart: Bool) {
        #expect(BusAddress.address(text).mayStartProgram == mayStart)
    }

    @Test func aPathIsNoOtherPartOfAnAddress() {
        #expect(BusAddress.escaped("/run/user/1000") == "/run/user/1000")
        #expect(BusAddress.escaped("/a b;c,d=e%\u{1}/\u{FC}") == "/a%20b%3bc%2cd%3de%25%01/%c3%bc")
    }
}
