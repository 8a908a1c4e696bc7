import DaemonSupport
import FocusCore
import Glibc
import Loop
import Motion

/// Which app a window is of: the one place that all sources ask.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class Naming {
    private var namer = AppNamer()
    private let folders: DesktopFolders
    private let apps: BrokerApps
    private var followers: [() -> Void] = []

    init(on loop: EventLoop, _ apps: BrokerApps, log: Log) {
        let environment = { (name: String) -> String? in
            // SAFETY: the text is copied at once, and nothing of ours changes the environment.
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
        self.folders = DesktopFolders(DesktopPlaces.folders(environment), on: loop, log: log)
        self.apps = apps
        self.folders.onRead = { [weak self] files in self?.change { $0.take(files) } }
        self.apps.onChange = { [weak self] apps in self?.change { $0.take(apps) } }
        self.folders.start()
    }

    func app(of claims: WindowClaims) -> NamedApp {
        var processes = Processes()
        return self.app(of: claims, among: &processes)
    }

    /// The same for one of many windows that are named at once.
    func app(of claims: WindowClaims, among processes: inout Processes) -> NamedApp {
        self.namer.app(of: claims, process: claims.process.flatMap { processes[$0] })
    }

    /// What the kernel shows of processes, each looked at once.
    struct Processes {
        private var known: [UInt32: WindowProcess?] = [:]

        subscript(number: UInt32) -> WindowProcess? {
            mutating get {
                if let known = self.known[number] { return known }
                let process = Naming.process(number)
                self.known[number] = .some(process)
                return process
            }
        }
    }

    /// Runs `handler` when something else is known of apps.
    func onChange(_ handler: @escaping () -> Void) { self.followers.append(handler) }

    private func change(_ change: (inout AppNamer) -> Void) {
        change(&self.namer)
        for follower in self.followers { follower() }
    }

    fileprivate static func process(_ number: UInt32) -> WindowProcess? {
        guard let number = Int32(exactly: number), let files = try? ProcessFiles(of: number) else { return nil }
        let groups = files.groups
        return groups.isEmpty
            ? nil : WindowProcess(groups: groups, sandboxFile: files.sandbox, command: files.command)
    }
}
