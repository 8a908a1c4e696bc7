import DaemonSupport
import Glibc
import Loop
import Motion

/// What `jostle doctor` finds of the kernel's IIO devices, and of what lets the reader at them.
struct DeviceExam: Equatable {
    struct Device: Equatable {
        /// `iio:device0`
        var node: String
        /// What its driver calls it.
        var name: String
        /// Who may read its buffer; `nil`: it has none.
        var access: Access?
    }

    struct Access: Equatable {
        var user: UInt32
        var group: UInt32
        var mode: UInt32

        func isReadable(by reader: Reader) -> Bool {
            if reader.user == 0 { return true }
            if self.user == reader.user { return self.mode & 0o400 != 0 }
            if reader.groups.contains(self.group) { return self.mode & 0o040 != 0 }
            return self.mode & 0o004 != 0
        }
    }

    /// As whom the system's reader runs.
    struct Reader: Equatable {
        var user: UInt32
        /// All that count, its own one and those besides.
        var groups: Set<UInt32>
    }

    var devices: [Device] = []
    /// `nil`: none runs, or it is not the system's, for which udev's rules are meant.
    var reader: Reader?
    /// The file of rules that udev goes by.
    var rules: String?
    /// Whether iio-sensor-proxy runs, which keeps devices to itself.
    var hasRival = false
    /// Whether the reader has any: not all are IIO devices.
    var hasSensors = false

    private static let rulesFile = "60-jostle.rules"

    var remarks: [Remark] {
        var remarks: [Remark] = []
        if !self.devices.isEmpty {
            let names = self.devices.map { "\(printable($0.name)) (\($0.node))" }
            remarks.append(.good(.devices, "the kernel's IIO devices are \(names.joined(separator: ", "))"))
        } else if !self.hasSensors {
            remarks.append(
                .note(
                    .devices, "the kernel shows no IIO device: there is none, or no driver for it",
                    look: [.run("ls", "/sys/bus/iio/devices")]))
        }
        if self.hasRival {
            remarks.append(
                .note(
                    .devices, "iio-sensor-proxy runs, and keeps the buffers that it has open to itself",
                    mend: [.run("systemctl", "mask", "--now", "iio-sensor-proxy")]))
        }
        // Root needs no rules.
        guard let reader, reader.user != 0 else { return remarks }
        guard self.rules != nil else {
            return remarks + [
                .wrong(
                    .devices, "udev has no \(Self.rulesFile), so the reader has no rights to buffers and rates",
                    mend: [.run("apt", "install", "--reinstall", "jostle")])
            ]
        }
        let closed = self.devices.filter { $0.access?.isReadable(by: reader) == false }
        if !closed.isEmpty {
            let nodes = closed.map { "/dev/\($0.node)" }.joined(separator: ", ")
            remarks.append(
                .wrong(
                    .devices,
                    "the reader (user \(reader.user)) may not read \(nodes): perhaps udev's rules came later than the device",
                    mend: [
                        .run("udevadm", "control", "--reload"),
                        .run("udevadm", "trigger", "--subsystem-match=iio", "--subsystem-match=input"),
                    ]))
        }
        return remarks
    }
}

extension DeviceExam {
    /// Looks at the files of the kernel and of udev.
    init(reader: Reader?, hasRival: Bool, hasSensors: Bool) {
        (self.reader, self.hasRival, self.hasSensors) = (reader, hasRival, hasSensors)
        let directory = "/sys/bus/iio/devices"
        for node in (try? directoryNames(directory)) ?? [] where node.hasPrefix("iio:device") {
            let name = (try? contents(of: "\(directory)/\(node)/name")).map { String(decoding: $0, as: UTF8.self) }
            let status = fileStatus("/dev/\(node)")
            self.devices.append(
                Device(
                    node: node, name: name?.split(separator: "\n").first.map(String.init) ?? "unnamed",
                    access: status.map { Access(user: $0.st_uid, group: $0.st_gid, mode: $0.st_mode) }))
        }
        self.rules = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map {
            "\($0)/udev/rules.d/\(Self.rulesFile)"
        }
        .first { fileStatus($0) != nil }
    }
}

extension DeviceExam.Reader {
    /// What the bus knows of a process, and the kernel of its groups; `nil`: too little.
    init?(_ owner: AskedBus.Owner?) {
        guard let user = owner?.user, let process = owner?.process,
            let status = try? contents(of: "/proc/\(process)/status")
        else { return nil }
        self.init(user: user, groups: Self.groups(in: status))
    }

    /// Reads the lines `Gid:` and `Groups:` of a process's status.
    static func groups(in status: [UInt8]) -> Set<UInt32> {
        var groups: Set<UInt32> = []
        for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" }
            switch words.first {
            // The last of four is the one that files go by.
            case "Gid:": if let own = words.last.flatMap({ UInt32($0) }) { groups.insert(own) }
            case "Groups:": groups.formUnion(words.dropFirst().compactMap { UInt32($0) })
            default: break
            }
        }
        return groups
    }
}
