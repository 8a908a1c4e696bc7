import DBus
import DaemonSupport
import Glibc
import Loop

/// The script that tells of KWin's windows, and how KWin is brought to run it.
enum KWinScript {
    private static let name = "jostle-focus"
    private static let interface = "org.kde.kwin.Scripting"

    /// Has KWin run the script, in the place of one that an earlier run of ours left there.
    ///
    /// - Parameter onFailure: told why it does not.
    static func load(into owner: String, on bus: Connection, onFailure: @escaping (String) -> Void) {
        let path: String
        do throws(SystemError) {
            path = try self.write()
        } catch {
            return onFailure("\(error)")
        }
        self.unload(from: owner, on: bus) {
            bus.call(self.scripting(of: owner), "loadScript", path, self.name, autoStart: false) { result in
                do throws(BusError) {
                    let number = try result.take().read(reply: Int32.self)
                    guard number >= 0 else { throw .failed("it has one of that name") }
                    // Where a script is changed with KWin's versions.
                    self.run(["/Scripting/Script\(number)", "/\(number)"][...], owner, on: bus, onFailure)
                } catch {
                    onFailure("\(error)")
                }
            }
        }
    }

    /// Has KWin run it no more.
    static func unload(from owner: String, on bus: Connection, then: @escaping () -> Void = {}) {
        bus.call(self.scripting(of: owner), "unloadScript", self.name, autoStart: false) { _ in then() }
    }

    private static func scripting(of owner: String) -> CallTarget {
        CallTarget(owner, ObjectPath(literal: "/Scripting"), self.interface)
    }

    private static func run(
        _ places: ArraySlice<String>, _ owner: String, on bus: Connection, _ onFailure: @escaping (String) -> Void
    ) {
        guard let place = places.first.flatMap(ObjectPath.init) else { return onFailure("the script is nowhere") }
        bus.call(CallTarget(owner, place, "org.kde.kwin.Script"), "run", autoStart: false) { result in
            do throws(BusError) {
                _ = try result.take()
            } catch {
                if places.count > 1 { return self.run(places.dropFirst(), owner, on: bus, onFailure) }
                onFailure("\(error)")
            }
        }
    }

    /// Writes the script to where only its user can write.
    private static func write() throws(SystemError) -> String {
        guard let directory = environmentValue("XDG_RUNTIME_DIR") else {
            throw SystemError(code: ENOENT, function: "XDG_RUNTIME_DIR")
        }
        let path = "\(directory)/jostle-focus-kwin.js"
        let file = try OwnedDescriptor(
            opening: path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode: 0o600)
        try writeAll(String(decoding: PackageResources.kwin_js, as: UTF8.self), to: file.raw)
        return path
    }
}
