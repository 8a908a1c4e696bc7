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
}
