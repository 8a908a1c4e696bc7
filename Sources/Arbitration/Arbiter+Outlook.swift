package import Motion

extension Arbiter {
    /// What is asked of an arbiter with every event, told in one go.
    package struct Outlook: Equatable, Sendable {
        package let hasGroups: Bool
        package let isAsleep: Bool
        package let isPatient: Bool
        package let arrivalTime: Timestamp
        package let lastEpoch: UInt64
        package let nextMotionDeadline: Timestamp?
        package let nextArrivalDeadline: Timestamp?
    }

    /// Tells how it stands until the next input.
    ///
    /// Mutating so that it is looked at where it is: another module that asks otherwise copies all of it for each answer.
    package mutating func outlook() -> Outlook {
        Outlook(
            hasGroups: self.hasGroups, isAsleep: self.isAsleep, isPatient: self.isPatient,
            arrivalTime: self.arrivalTime,
            lastEpoch: self.lastEpoch, nextMotionDeadline: self.nextMotionDeadline,
            nextArrivalDeadline: self.nextArrivalDeadline)
    }
}
