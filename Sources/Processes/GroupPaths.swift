/// The control groups of a process, as its file `cgroup` tells them.
package struct GroupPaths: Equatable, Sendable {
    /// Its group in the one hierarchy of version 2.
    package private(set) var unified: String?
    /// Its group in the hierarchy of version 1 that systemd keeps for itself.
    package private(set) var named: String?

    /// - Parameter file: The lines of `/proc/PID/cgroup`: the hierarchy's number, its controllers, and the path in it.
    package init(_ file: [UInt8]) {
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[0].elementsEqual("0".utf8), fields[1].isEmpty {
                self.unified = String(decoding: fields[2], as: UTF8.self)
            } else if fields[1].elementsEqual("name=systemd".utf8) {
                self.named = String(decoding: fields[2], as: UTF8.self)
            }
        }
    }
}
