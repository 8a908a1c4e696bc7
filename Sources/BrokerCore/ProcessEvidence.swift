package import Arbitration
package import Motion

/// What the kernel shows of the process behind a connection: two of its files, as they stand.
package struct ProcessEvidence: Equatable, Sendable {
    /// What Flatpak wrote of the sandbox that the process runs in; `nil`: it runs in none. Empty: it cannot be read.
    package var sandbox: [UInt8]?
    /// The control groups that the process is in: its file `cgroup`.
    package var groups: [UInt8]

    package init(sandbox: [UInt8]? = nil, groups: [UInt8] = []) {
        self.sandbox = sandbox
        self.groups = groups
    }

    /// How well it is proven that the process, which owns the app's name, is the app.
    package func proof(of app: AppID) -> IdentityProof {
        // Who runs in a sandbox is the app of that sandbox, whatever its unit is called.
        if let sandbox { return Self.app(ofSandbox: sandbox) == app.name ? .flatpak : .name }
        return UnitName(ofGroups: self.groups)?.isOf(app) == true ? .unit : .name
    }

    /// The app that a `.flatpak-info` names: `name` in `[Application]`, a key file as GLib writes them.
    ///
    /// `nil`: it names none, or is none of Flatpak's, which says it once.
    private static func app(ofSandbox file: [UInt8]) -> String? {
        var isInside = false
        var names: [String] = []
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let text = Self.trimmed(line)
            if text.first == UInt8(ascii: "[") {
                isInside = text.elementsEqual("[Application]".utf8)
            } else if isInside, let sign = text.firstIndex(of: UInt8(ascii: "=")),
                Self.trimmed(text[..<sign]).elementsEqual("name".utf8)
            {
                names.append(String(decoding: Self.trimmed(text[(sign + 1)...]), as: UTF8.self))
            }
        }
        return names.count == 1 ? names[0] : nil
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        let front = bytes.drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return [] }
        return front[...last]
    }
}
