package import Arbitration
package import Motion
import Processes

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
        if let sandbox { return SandboxFile.app(sandbox) == app.name ? .flatpak : .name }
        return UnitName(ofGroups: self.groups)?.isOf(app) == true ? .unit : .name
    }
}
