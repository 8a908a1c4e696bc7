import DBus
import DaemonSupport
import Motion
import Protocol

/// What `jostle doctor` finds of one of the two services: whether it runs, answers, and is of our own version.
struct ServiceExam: Equatable {
    enum Standing: Equatable {
        /// Why the bus cannot be reached.
        case noBus(String)
        /// Nobody owns the name, and nobody would be started for it.
        case absent
        /// The bus could not start it.
        case notStarted(String)
        case silent(AskedBus.Owner?)
        /// It answers with an error.
        case refuses(String)
        case runs(version: String, AskedBus.Owner?)
    }

    enum Service: Equatable {
        case broker
        case reader

        fileprivate var title: String { self == .broker ? "the broker" : "the sensor reader" }
        fileprivate var name: String { self == .broker ? BusName.broker : BusName.sensors }
        var unit: String { "\(self.program).service" }
        fileprivate var program: String { self == .broker ? "jostle-brokerd" : "jostle-sensord" }
        fileprivate var area: Remark.Area { self == .broker ? .broker : .reader }
    }

    let service: Service
    let address: BusAddress
    let standing: Standing
    /// Where its program is, if it is beside us or where daemons are installed.
    var program: String?
    /// systemd's unit of it, where there may be one.
    var unit: UnitExam?

    /// Who answers, or does not.
    var owner: AskedBus.Owner? {
        switch self.standing {
        case .silent(let owner), .runs(_, let owner): owner
        case .noBus, .absent, .notStarted, .refuses: nil
        }
    }

    var upkeep: Upkeep { Upkeep(unit: self.unit, process: self.owner?.process) }

    var remarks: [Remark] {
        let area = self.service.area
        let place = "on the \(self.address)"
        switch self.standing {
        case .noBus(let problem):
            return [.wrong(.bus, "the \(self.address) cannot be reached: \(problem)", mend: self.busMend)]
        case .absent:
            let text = "\(self.service.title) does not run \(place), and the bus does not know how to start it"
            let option = self.address == .session ? [] : ["--bus", self.address.option]
            guard let program else {
                return [.wrong(area, "\(text): \(self.service.program) is not installed")]
            }
            return [.wrong(area, text, mend: [.leave([program] + option)])]
        case .notStarted(let problem):
            return [.wrong(area, "\(self.service.title) is not started \(place): \(problem)", look: self.upkeep.log)]
        case .silent(let owner):
            return [
                .wrong(
                    area, "\(self.service.title)\(Self.told(owner)) does not answer \(place)",
                    mend: self.upkeep.restart(isSilent: true), look: self.upkeep.log)
            ]
        case .refuses(let problem):
            return [.wrong(area, "\(self.service.title) refuses to answer \(place): \(problem)", look: self.upkeep.log)]
        case .runs(let version, let owner) where version != Version.text:
            return [
                .wrong(
                    area,
                    "\(self.service.title)\(Self.told(owner)) is \(printable(version)), and this is \(Version.text)",
                    mend: self.upkeep.restart())
            ]
        case .runs(let version, let owner):
            return [.good(area, "\(self.service.title) \(version)\(Self.told(owner)) answers \(place)")]
        }
    }

    private static func told(_ owner: AskedBus.Owner?) -> String {
        guard let owner else { return "" }
        let words = [owner.process.map { "process \($0)" }, owner.user.map { "user \($0)" }].compactMap { $0 }
        return words.isEmpty ? "" : " (\(words.joined(separator: ", ")))"
    }

    private var busMend: [TypedCommand] {
        switch self.address {
        case .session: [.run("dbus-run-session", "--", "sh")]
        case .system: [.run("systemctl", "start", "dbus")]
        case .address: []
        }
    }
}

extension ServiceExam {
    /// Looks at a service. One that the bus can start is started: whether that works is part of the answer.
    init(_ service: Service, on bus: Result<AskedBus, BusError>, at address: BusAddress) {
        self.service = service
        self.address = address
        self.program = siblingProgram(service.program)
        switch bus {
        case .failure(let error): self.standing = .noBus(error.message)
        case .success(let bus):
            self.standing = Self.look(at: service, on: bus)
            // Whoever made a bus of their own has no units on it.
            switch address {
            case .session: self.unit = UnitExam(service.unit, isUsers: true, on: bus)
            case .system: self.unit = UnitExam(service.unit, isUsers: false, on: bus)
            case .address: break
            }
        }
    }

    private static func look(at service: Service, on bus: AskedBus) -> Standing {
        let (path, interface) =
            service == .broker ? (Path.broker, InterfaceName.broker) : (Path.sensors, InterfaceName.sensors)
        let owner = bus.owner(of: service.name)
        guard owner != nil || bus.starts(service.name) else { return .absent }
        do throws(BusError) {
            let all = try bus.properties(service.name, path, interface.description, starts: owner == nil)
            return .runs(version: all.text("Version"), owner ?? bus.owner(of: service.name))
        } catch {
            if owner == nil { return .notStarted(error.message) }
            return error.isBusMissing ? .silent(owner) : .refuses(error.message)
        }
    }
}
