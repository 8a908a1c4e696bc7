import Arbitration
import BrokerCore
import Motion
import Testing

/// What UPower's properties come to.
@Suite struct PowerSupplyTests {
    @Test func nothingIsKnownBeforeItIsSaid() {
        var supply = PowerSupply()
        #expect(supply.power == nil)
        supply.changed(hasBattery: true, percentage: 50)
        #expect(supply.power == nil)
        supply.changed(isOnBattery: false)
        #expect(supply.power == .ac)
        // What is not said again is as it was.
        supply.changed(isOnBattery: true)
        supply.changed(isOnBattery: nil)
        supply.changed(hasBattery: nil, percentage: nil)
        #expect(supply.power == .battery(0.5))
        supply.changed(hasBattery: false, percentage: nil)
        #expect(supply.power == .battery(nil))
    }

    private func charged(_ percentage: Double) -> PowerSupply {
        var supply = PowerSupply()
        supply.changed(isOnBattery: true)
        supply.changed(hasBattery: true, percentage: percentage)
        return supply
    }

    /// Rounded down, so that a rule on less than so many percents holds as long as there are less. The number is that of a rule.
    @Test func aChargeIsOfWholePercents() throws {
        for percents in 0...100 {
            let charge = try Quantity.parse("\(percents)%").value
            for more in [0, 0.1, 0.99] where percents < 100 || more == 0 {
                #expect(self.charged(Double(percents) + more).power == .battery(charge), "\(percents) + \(more)")
            }
        }
    }

    @Test(arguments: [.nan, .infinity, -.infinity, -0.1, -5, 100.1, 1e300] as [Double])
    func aPercentageThatNoBatteryHasIsNoCharge(_ percentage: Double) {
        var supply = self.charged(50)
        supply.changed(hasBattery: nil, percentage: percentage)
        #expect(supply.power == .battery(nil))
    }
}
