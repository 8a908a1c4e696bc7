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

    /// A device that is there.
    private struct Present {
        /// What udev said of it when it was taken.
        let notice: DeviceNotice
        /// The sensors that it is.
        let sources: [DeviceSource]
        var device: IIODevice?
    }

    /// By their directory.
    private var present: [String: Present] = [:]

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

    /// Lets all devices rest, for the end: a buffer runs on when whoever had it is gone.
    package func stop() {
        for source in self.sources { source.stop() }
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
        case .there:
            self.appeared(notice)
            if notice.isJoystick, !notice.isAccelerometer { self.lookAtPads() }
        case .gone: self.vanished(notice.path)
        }
    }

    /// A joystick came. What is beside it may have come first, when nobody could say that it is a part of a pad.
    private func lookAtPads() {
        let others = self.present.filter { $0.value.notice.isAccelerometer && !$0.value.notice.isInPad }
        for path in others.keys.sorted() {
            if let notice = self.finder.device(at: path) { self.appeared(notice) }
        }
    }

    private func appeared(_ notice: DeviceNotice) {
        if let known = self.present[notice.path], known.notice == notice, known.device?.isUnbarred != true {
            for source in known.sources { source.refresh() }
            // What had no sensors when it came may have its attributes now.
            guard known.sources.isEmpty else { return }
        } else {
            // What udev says another thing of now, such as how it is turned, or has given us rights to, is as good as another
            // device.
            self.vanished(notice.path)
        }
        switch notice.subsystem {
        case .iio: self.appeared(iio: notice)
        case .input: self.appeared(input: notice)
        case .hwmon, .platform: self.appeared(light: notice)
        }
    }

    private func appeared(iio notice: DeviceNotice) {
        let device = IIODevice(notice, on: self.loop, self.threads)
        guard self.selects(.iio(notice.systemName)) || self.selects(.iio(device.name)) else {
            return device.dismantle()
        }
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
        self.present[notice.path] = Present(notice: notice, sources: sources, device: device)
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
        self.present[notice.path] = Present(notice: notice, sources: sources)
    }

    private func appeared(light notice: DeviceNotice) {
        let directory = AttributeDirectory(path: notice.path)
        guard self.selections.contains(.all), directory.has(LightPair.attribute) else { return }
        let driver = (try? directory.textIfAny("name")) ?? notice.systemName
        let hardware = Hardware(driver: driver, placement: "", source: "hwmon:\(driver)", unit: LightPair.unit)
        let light = LightPair(in: directory, AttributePoll(on: self.loop, self.threads, .level))
        self.present[notice.path] = Present(
            notice: notice, sources: [self.attach(light, .light, hardware, notice)])
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
        guard let known = self.present.removeValue(forKey: path) else { return }
        // First of all: a sensor that lets go must not set the buffer up anew for the others.
        known.device?.dismantle()
        for source in known.sources {
            self.roster.vanished(source.sensor.name)
            source.detach()
        }
    }
}
