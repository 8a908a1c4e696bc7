import Arbitration
import Motion
import Testing

@testable import jostle

/// What another policy would change, as far as hits that there were can tell.
@Suite struct WhatIfTests {
    private func settings(_ threshold: String?) -> AppSettings {
        var settings = AppSettings()
        if let threshold { settings.sensing.thresholds["shake.planar"] = threshold }
        return settings
    }

    @Test func otherThresholdsAreTold() {
        let app = AppID("org.example.A")
        let plain = Policy(otherwise: .allow)
        let harder = Policy(apps: [app: self.settings("8g")])
        #expect(WhatIfCommand.changesThresholds(harder, from: nil))
        #expect(WhatIfCommand.changesThresholds(harder, from: plain))
        #expect(WhatIfCommand.changesThresholds(plain, from: harder))
        #expect(WhatIfCommand.changesThresholds(Policy(everyApp: self.settings("8g")), from: plain))
        #expect(WhatIfCommand.changesThresholds(harder, from: Policy(apps: [app: self.settings("2g")])))
        #expect(!WhatIfCommand.changesThresholds(plain, from: nil))
        #expect(!WhatIfCommand.changesThresholds(harder, from: harder))
        // Said of the app alone it is what every app has.
        let every = Policy(everyApp: self.settings("8g"))
        let named = Policy(apps: [app: self.settings("8g")], everyApp: self.settings("8g"))
        #expect(!WhatIfCommand.changesThresholds(named, from: every))
    }
}
