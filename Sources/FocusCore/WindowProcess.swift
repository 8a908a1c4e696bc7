import Processes

/// What the kernel shows of the process whose window it is. Unlike what windows say, its user can only choose it by starting it so.
package struct WindowProcess: Equatable, Sendable {
    /// The sandbox that it runs in.
    package enum Sandbox: Equatable, Sendable {
        case flatpak(String)
        /// By the name of the snap, and of the app in it.
        case snap(String, app: String)
        /// One that does not say whose it is.
        case unknown
    }

    /// `nil`: it runs in none.
    package let sandbox: Sandbox?
    /// The app that its unit is for, by the id of its desktop file.
    package let unit: String?
    /// The name of its program, of which the kernel keeps the first 15 bytes.
    package let command: String

    /// - Parameters:
    ///   - groups: The control groups that it is in: its file `cgroup`.
    ///   - sandboxFile: What Flatpak wrote of its sandbox; `nil`: nothing. Empty: it cannot be read.
    ///   - command: Its file `comm`.
    package init(groups: [UInt8], sandboxFile: [UInt8]? = nil, command: [UInt8] = []) {
        let purpose = UnitName(ofGroups: groups)?.purpose
        switch purpose {
        case .app(let id): self.unit = id
        case .flatpak, .snap, nil: self.unit = nil
        }
        if let sandboxFile {
            // What Flatpak says of it counts before the name of its unit, which those outside can choose.
            self.sandbox = SandboxFile.app(sandboxFile).map { .flatpak($0) } ?? .unknown
        } else {
            switch purpose {
            case .flatpak(let id): self.sandbox = .flatpak(id)
            case .snap(let name, let app): self.sandbox = .snap(name, app: app)
            case .app, nil: self.sandbox = nil
            }
        }
        self.command = String(decoding: command.prefix { $0 != 0x0A }, as: UTF8.self)
    }

    /// As much of a program's name as the kernel keeps.
    static let longestCommand = 15

    /// Whether it runs a program of that name.
    func runs(_ program: String) -> Bool {
        let name = String(decoding: program.utf8.prefix(Self.longestCommand), as: UTF8.self)
        return !name.isEmpty && DesktopFiles.folded(name) == DesktopFiles.folded(self.command)
    }
}
