/// What an administrator has to know: the journal finds it by its id, and `systemd/jostle.catalog` explains it.
///
/// An id never changes and never comes to mean something else, for people's filters name it.
package enum LogEvent: String, CaseIterable, Sendable {
    /// A sensor is there and gives nothing that is of use.
    case sensorBroken = "595819f13b4e435591a6bd096c0313ad"
    /// Detectors wait for sensors, and their reader cannot be started.
    case readerMissing = "56786b5cea9e48139aef3e7cd2b2e3e9"
    /// Somebody has the name of an app and is not taken for it.
    case appRefused = "e84e667b0a1e42f79950cfe995ccfdbc"
    /// An app file asks for what it cannot have.
    case appFileRefused = "3a0eb007199443588b052125fc4f7668"
    /// Nothing can be kept: the disk is full, read-only, broken, or does not answer.
    case diskFailed = "7272cf3d8cc740428bebb1002f75d96e"
    /// What is to be kept is on the disk again.
    case diskRecovered = "d4ba93b87ddd4112aa6abfc224081fd7"
    /// A file of ours is no good; another one was begun.
    case fileSetAside = "3103b2f1fbe243cfa07fabfa5162b13d"
    /// Policy files have errors, and are not in force.
    case policyRefused = "c3d3e3c8320549a5b5f19b9a6dab2106"
    /// Another daemon has the name or the directory that this one is to have.
    case alreadyRunning = "aff28a7dbb8a498698b63d73978c71a4"
    /// The loop stood still for so long that the watchdog has nearly bitten.
    case stoodStill = "90354477bda944d49e0083956e559a70"
}

/// What a `LogEvent` is about, as the fields of the journal are called.
package enum LogField: String, Comparable, Sendable {
    case app = "JOSTLE_APP"
    case bus = "JOSTLE_BUS"
    case reason = "JOSTLE_REASON"
    case sensor = "JOSTLE_SENSOR"
    case user = "JOSTLE_USER"

    package static func < (a: LogField, b: LogField) -> Bool { a.rawValue < b.rawValue }
}
