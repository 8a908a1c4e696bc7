import DaemonSupport
import Glibc
import Loop
import Motion

/// What `jostle doctor` finds of the kernel's sensors, and of what lets the reader at them.
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

        func isReadable(by reader: UInt32, _ readersGroup: UInt32?) -> Bool {
            if reader == 0 { return true }
            if self.user == reader { return self.mode & 0o400 != 0 }
            if self.group == readersGroup { return self.mode & 0o040 != 0 }
            return self.mode & 0o004 != 0
        }
    }

    var devices: [Device] = []
    /// The user that the system's reader runs as, where there is one of that name.
    var serviceUser: (id: UInt32, group: UInt32)?
    /// The file of rules that udev goes by.
    var rules: String?
    /// Whether iio-sensor-proxy runs, which keeps devices to itself.
    var hasRival = false
    /// Whether the reader is the system's, for which all this is meant.
    var isSystems = false

    static let user = "jostle"
    static let rulesFile = "60-jostle.rules"

    static func == (a: Self, b: Self) -> Bool {
        a.devices == b.devices && a.rules == b.rules && a.hasRival == b.hasRival && a.isSystems == b.isSystems
            && a.serviceUser?.id == b.serviceUser?.id && a.serviceUser?.group == b.serviceUser?.group
    }

    var remarks: [Remark] {
        var remarks: [Remark] = []
        if self.devices.isEmpty {
            remarks.append(
                .note(
                    .devices, "the kernel shows no sensor: there is none, or no driver for it",
                    mend: "ls /sys/bus/iio/devices"))
        } else {
            let names = self.devices.map { "\(printable($0.name)) (\($0.node))" }
            remarks.append(.good(.devices, "the kernel shows \(names.joined(separator: ", "))"))
        }
        if self.hasRival {
            remarks.append(
                .note(
                    .devices, "iio-sensor-proxy runs, and keeps the buffers that it has open to itself",
                    mend: "systemctl mask --now iio-sensor-proxy"))
        }
        guard self.isSystems else { return remarks }
        guard let serviceUser else {
            return remarks + [
                .wrong(.devices, "there is no user '\(Self.user)' for the reader to be", mend: "systemd-sysusers")
            ]
        }
        guard self.rules != nil else {
            return remarks + [
                .wrong(
                    .devices, "udev has no \(Self.rulesFile), so the reader has no rights to buffers and rates",
                    mend: "apt install --reinstall jostle")
            ]
        }
        let closed = self.devices.filter { $0.access?.isReadable(by: serviceUser.id, serviceUser.group) == false }
        if !closed.isEmpty {
            let nodes = closed.map { "/dev/\($0.node)" }.joined(separator: ", ")
            remarks.append(
                .wrong(
                    .devices, "the reader may not read \(nodes): udev's rules came later than the device",
                    mend: "udevadm control --reload", "udevadm trigger --subsystem-match=iio --subsystem-match=input"))
        }
        return remarks
    }
}

extension DeviceExam {
    /// Looks at the files of the kernel and of udev.
    init(isSystems: Bool, hasRival: Bool) {
        (self.isSystems, self.hasRival) = (isSystems, hasRival)
        let directory = "/sys/bus/iio/devices"
        for node in (try? directoryNames(directory)) ?? [] where node.hasPrefix("iio:device") {
            let name = (try? contents(of: "\(directory)/\(node)/name")).map { String(decoding: $0, as: UTF8.self) }
            self.devices.append(
                Device(
                    node: node, name: name?.split(separator: "\n").first.map(String.init) ?? "unnamed",
                    access: Self.access(of: "/dev/\(node)")))
        }
        self.rules = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map {
            "\($0)/udev/rules.d/\(Self.rulesFile)"
        }
        .first { Self.access(of: $0) != nil }
        self.serviceUser = Self.look(up: Self.user)
    }

    private static func access(of path: String) -> Access? {
        var status = stat()
        // SAFETY: the path is NUL-terminated for the call, and the structure is ours.
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Access(user: status.st_uid, group: status.st_gid, mode: status.st_mode)
    }

    private static func look(up user: String) -> (id: UInt32, group: UInt32)? {
        // SAFETY: nothing else in this process looks users up, so the entry holds until it is copied.
        guard let entry = unsafe getpwnam(user) else { return nil }
        return unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }
}
