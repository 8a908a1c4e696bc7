import DeviceCore
package import Loop
import Motion

/// Which devices are read.
package enum DeviceSelection: Hashable, Sendable {
    /// Every sensor that is found.
    case all
    /// An industrial I/O device by its driver's name or its number: `bmc150_accel`, `iio:device0`.
    case iio(String)
    /// An input device by its node.
    case evdev(String)
}

/// All sensors that are measured: finds their devices, follows them as they come and go, and keeps their names.
///
/// Not `Sendable`: it belongs to the loop's thread.
package final class DeviceSources {
    private let loop: EventLoop
    private let selections: Set<DeviceSelection>
    private let remark: (String) -> Void
    private let detail: (String) -> Void
    private let finder: DeviceFinder
    private let threads = ReadingThreads()
    private var roster = SensorRoster()
    /// In the order in which they came; none is ever taken away.
    package private(set) var sources: [DeviceSource] = []
    /// Told of a source that was not there before.
    package var onSource: (DeviceSource) -> Void = { _ in }

    /// The devices that are there, by their directory, and the sensors they are.
    private var present: [String: [DeviceSource]] = [:]
    private var devices: [String: IIODevice] = [:]

    /// Why no device can be read at all.
    package struct Problem: Swift.Error {
        package var message: String
    }

    /// Looks for the devices that are there now, and for those to come.
    ///
    /// - Parameters:
    ///   - taken: names that are no longer free.
    ///   - remark: what a person should be told.
    ///   - detail: what helps a person who looks for a fault.
    package init(
        _ selections: Set<DeviceSelection>, taken: [String], on loop: EventLoop,
        remark: @escaping (_ message: String) -> Void, detail: @escaping (_ message: String) -> Void
    ) throws(Problem) {
        self.loop = loop
        self.selections = selections
        self.remark = remark
        self.detail = detail
        do throws(DeviceProblem) {
            self.finder = try DeviceFinder(on: loop)
        } catch {
            throw Problem(message: error.message)
        }
        for name in taken { self.roster.reserve(name) }
        self.finder.onNotice = { [weak self] in self?.take($0) }
        self.finder.onLoss = { [weak self] in self?.lookAgain() }
        do throws(DeviceProblem) {
            try self.finder.listen()
        } catch {
            remark("\(error.message); devices that come later are not seen")
        }
        self.takeAll(self.finder.devices())
    }

    /// In an order that does not depend on the bus they were found on: so names stay the same from start to start.
    private func takeAll(_ notices: [DeviceNotice]) {
        let order = notices.sorted { a, b in
            (a.subsystem.rank, a.number, a.path) < (b.subsystem.rank, b.number, b.path)
        }
        for notice in order { self.take(notice) }
    }

    /// News were lost: what is there now tells what they said.
    private func lookAgain() {
        let notices = self.finder.devices()
        for path in self.present.keys.sorted() where !notices.contains(where: { $0.path == path }) {
            self.vanished(path)
        }
        self.takeAll(notices)
    }

    private func take(_ notice: DeviceNotice) {
        switch notice.change {
        case .there: self.appeared(notice)
        case .gone: self.vanished(notice.path)
        }
    }

    private func appeared(_ notice: DeviceNotice) {
        if let sources = self.present[notice.path] {
            for source in sources { source.refresh() }
            // What had no sensors when it came may have its attributes now.
            guard sources.isEmpty else { return }
        }
        switch notice.subsystem {
        case .iio: self.appeared(iio: notice)
        case .input: self.appeared(input: notice)
        case .hwmon, .platform: self.appeared(light: notice)
        }
    }

    private func appeared(iio notice: DeviceNotice) {
        let device = IIODevice(notice, on: self.loop, self.threads)
        guard self.selects(.iio(notice.systemName)) || self.selects(.iio(device.name)) else { return }
        let placement = device.placement
        let driver = device.name.isEmpty ? notice.systemName : device.name
        var sources: [DeviceSource] = []
        for sensor in device.sensors {
            sources.append(
                self.attach(
                    sensor, sensor.kind, Hardware(driver: driver, placement: placement, source: "iio:\(driver)"), notice
                )
            )
        }
        self.present[notice.path] = sources
        self.devices[notice.path] = device
    }

    private func appeared(input notice: DeviceNotice) {
        guard let node = notice.node else { return }
        let isNamed = self.selections.contains(.evdev(node))
        guard isNamed || self.selections.contains(.all) else { return }
        let facts = InputFacts(of: notice.path)
        let location = notice.location ?? (notice.isInPad ? "pad" : nil)
        let hardware = Hardware(
            driver: facts.name.isEmpty ? notice.systemName : facts.name,
            placement: Placement.word(label: nil, location: location), source: "evdev:\(node)")
        var sources: [DeviceSource] = []
        let isMeant = notice.isAccelerometer || facts.isAccelerometer
        // One that is named and is nothing of ours is an accelerometer that says so.
        if isMeant || (isNamed && !facts.tellsProximity) {
            for (kind, axis) in InputSensor.kinds where facts.hasAxes(from: axis) {
                let sensor = InputSensor(
                    kind, node, isMeant: isMeant, isInPad: hardware.placement == "pad", on: self.loop)
                sources.append(self.attach(sensor, kind, hardware, notice))
            }
        }
        if facts.tellsProximity {
            sources.append(self.attach(SwitchSensor(node, on: self.loop), .proximity, hardware, notice))
        }
        self.present[notice.path] = sources
    }

    private func appeared(light notice: DeviceNotice) {
        let directory = AttributeDirectory(path: notice.path)
        guard self.selections.contains(.all), directory.has(LightPair.attribute) else { return }
        let driver = (try? directory.textIfAny("name")) ?? notice.systemName
        let hardware = Hardware(driver: driver, placement: "", source: "hwmon:\(driver)", unit: LightPair.unit)
        self.present[notice.path] = [
            self.attach(LightPair(in: directory, AttributePoll(on: self.loop, self.threads)), .light, hardware, notice)
        ]
    }

    private func selects(_ selection: DeviceSelection) -> Bool {
        self.selections.contains(.all) || self.selections.contains(selection)
    }

    private func attach(
        _ reader: any SensorReader, _ kind: SensorKind, _ hardware: Hardware, _ notice: DeviceNotice
    ) -> DeviceSource {
        let (name, isNew) = self.roster.appeared(
            SensorRoster.Candidate(kind: kind, driver: hardware.driver, placement: hardware.placement))
        self.detail("\(name): found \(hardware.driver) at \(notice.path)")
        let known = isNew ? nil : self.sources.first { $0.sensor.name == name }
        let result = known ?? DeviceSource(name, kind, on: self.loop, remark: self.remark)
        result.attach(reader, hardware)
        if known == nil {
            self.sources.append(result)
            self.onSource(result)
        }
        return result
    }

    private func vanished(_ path: String) {
        guard let sources = self.present.removeValue(forKey: path) else { return }
        // First of all: a sensor that lets go must not set the buffer up anew for the others.
        self.devices.removeValue(forKey: path)?.dismantle()
        for source in sources {
            self.roster.vanished(source.sensor.name)
            source.detach()
        }
    }
}
