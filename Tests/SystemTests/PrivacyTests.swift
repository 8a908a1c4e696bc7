import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Who is told that an app exists. Only root can play two users.
    @Suite(.serialized, .enabled(if: geteuid() == 0)) struct Privacy {
        private static let app = "org.example.App"
        private static let introspect = "org.freedesktop.DBus.Introspectable Introspect"

        /// Each step by a peer `p` of a user that has nothing to do with ours.
        private func stranger(_ steps: String..., on stage: Stage) throws -> [String] {
            try stage.script(as: Stage.nobody, steps.map { "p call org.jostle.Broker1 \($0)" })
        }

        private func nodes(_ answer: String) -> [String] {
            answer.split(separator: "<").compactMap { part in
                let words = part.split(separator: "\"")
                return part.hasPrefix("node name=") && words.count > 1
                    ? String(words[1].split(separator: "\\").first ?? "") : nil
            }
        }

        @Test func introspectionShowsAppsToThoseWhoMayUseThem() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(on: PrivateBus(on: .dbusDaemon))
            let app = try stage.watch("shake.planar", "--app", Self.app)
            let (root, apps, own) = (Stage.Object.broker, "\(Stage.Object.broker)/apps", Stage.Object.app(Self.app))
            let node = String(own.dropFirst(apps.count + 1))

            let seen = try self.stranger(
                "\(root) \(Self.introspect)", "\(apps) \(Self.introspect)", "\(own) \(Self.introspect)",
                "/ \(Self.introspect)", on: stage)
            #expect(seen[0].hasPrefix("p ok ") && self.nodes(seen[0]).isEmpty)
            #expect(seen[1].hasPrefix("p error org.freedesktop.DBus.Error.UnknownObject"))
            #expect(seen[2].hasPrefix("p error org.freedesktop.DBus.Error.UnknownObject"))
            #expect(self.nodes(seen[3]) == ["org"])

            // One that is an app itself sees that.
            let beside = try self.stranger(
                "\(root) org.jostle.Broker1 Register sa{sv} ['',{}]", "\(root) \(Self.introspect)",
                "\(apps) \(Self.introspect)", on: stage)
            #expect(self.nodes(beside[1]) == ["apps"])
            let found = self.nodes(beside[2])
            #expect(found.count == 1 && found != [node])

            // The same user sees it as ever, and so does busctl.
            let mine = try stage.script("p call org.jostle.Broker1 \(apps) \(Self.introspect)")
            #expect(self.nodes(mine[0]) == [node])
            #expect(try stage.busctl("tree", "org.jostle.Broker1").stdout.contains(node))
            #expect(try app.terminate() == .exited(0))
        }
    }
}
