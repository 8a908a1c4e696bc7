import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

private let gallery = "org.example.Gallery"
private let path = "/org/example/Gallery"

extension BusTests {
    /// Objects as the tools see them.
    @Suite(.serialized) struct Objects {
        @Test func toolsSeeTheTree() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let tree = try station.busctl("tree", "--list", Station.name)
            #expect(tree.stdout == "/\n/org\n/org/example\n\(path)\n\(path)/guarded\n" && tree.stderr.isEmpty)
            let root = try station.busctl("introspect", Station.name, "/")
            #expect(root.status == 0 && root.stderr.isEmpty && !root.stdout.contains("Properties"))
            #expect(root.stdout.contains("org.freedesktop.DBus.Introspectable"))
            let nowhere = try station.busctl("introspect", Station.name, "/org/example/Galler")
            #expect(nowhere.status == 1 && nowhere.stderr.contains("there is no object at /org/example/Galler"))
        }

        /// An object at each path, which callers may know of or not.
        private func export(_ paths: [String], on station: Station, _ visibility: ExportedObject.Visibility?) throws {
            for path in paths {
                let path = try #require(ObjectPath(path))
                station.connection.export(ExportedObject(path, [], visibility: visibility))
            }
        }

        /// The names below a path, and how many nodes were looked at for it; `nil`: there is nothing.
        private func nodes(at path: String, on station: Station, for client: Connection) throws -> [String]? {
            let target = CallTarget(
                Station.name, try #require(ObjectPath(path)), "org.freedesktop.DBus.Introspectable")
            do throws(BusError) {
                let xml = try client.callAndWait(target, "Introspect").read(reply: String.self)
                return xml.split(separator: "\n").filter { $0.hasPrefix("  <node name=") }
                    .map { String($0.split(separator: "\"")[1]) }
            } catch {
                #expect(error == .unknownObject("there is no object at \(path)"))
                return nil
            }
        }

        @Test func aNodeIsThereForWhoeverMaySeeSomethingAtItOrBelow() throws {
            let station = try Station()
            let (mine, other) = (try station.client(), try station.client())
            let name = mine.uniqueName
            try self.export(["/a/open"], on: station, nil)
            try self.export(["/a/mine/deep/er", "/a/open/mine", "/b/mine"], on: station) { sender, _ in sender == name }
            try self.export(["/a/mine/deep", "/c"], on: station) { _, _ in false }
            try self.export(["/b/root/x"], on: station) { _, caller in caller.user == geteuid() }
            func list(_ path: String) throws -> [[String]?] {
                try [mine, other].map { try self.nodes(at: path, on: station, for: $0) }
            }
            #expect(try list("/") == [["a", "b"], ["a", "b"]])
            #expect(try list("/a") == [["mine", "open"], ["open"]])
            #expect(try list("/a/mine") == [["deep"], nil])
            #expect(try list("/a/mine/deep") == [["er"], nil])
            #expect(try list("/a/mine/deep/er") == [[], nil])
            #expect(try list("/a/open") == [["mine"], []])
            #expect(try list("/b") == [["mine", "root"], ["root"]])
            #expect(try list("/c") == [nil, nil])
            #expect(try list("/a/min") == [nil, nil])
            // What goes takes along the steps that led to nothing else.
            for path in ["/a/mine/deep/er", "/a/open", "/b/root/x"] {
                let path = try #require(ObjectPath(path))
                station.connection.unexport(try #require(station.connection.objects.object(at: path)))
            }
            #expect(try list("/") == [["a", "b"], []])
            #expect(try list("/a") == [["open"], nil])
            #expect(try list("/a/open") == [["mine"], nil])
            #expect(try list("/b") == [["mine"], nil])
            #expect(try list("/b/root") == [nil, nil])
        }

        /// The time of introspection is that of what is right below a node, whatever stands elsewhere.
        @Test func introspectionLooksOnlyAtWhatItShows() throws {
            let station = try Station()
            let client = try station.client()
            let crowd = (0..<3_000).map { "/crowd/apps/app\(10_000 + $0)" }
            func visits(_ path: String) throws -> (UInt64, [String]?) {
                let before = station.connection.objects.visits
                let nodes = try self.nodes(at: path, on: station, for: client)
                return (station.connection.objects.visits - before, nodes)
            }
            try self.export(["/crowd", "/calm/a", "/calm/b"], on: station, nil)
            try self.export(crowd, on: station) { _, caller in caller.user == geteuid() }
            #expect(try visits("/") == (2, ["calm", "crowd"]))
            #expect(try visits("/calm") == (2, ["a", "b"]))
            #expect(try visits(crowd[0]) == (0, []))
            #expect(try visits("/nothing/there") == (0, nil))
            // Of many as many as an answer shows, the first of them.
            let shown = ObjectTree.childLimit
            let listed = try visits("/crowd/apps")
            #expect(listed.0 == UInt64(shown) && listed.1 == crowd.prefix(shown).map { String($0.dropFirst(12)) })
            #expect(try visits("/crowd") == (2, ["apps"]))
        }

        @Test func busctlSeesEveryMember() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let result = try station.busctl("introspect", Station.name, path)
            #expect(result.status == 0 && result.stderr.isEmpty)
            let rows = result.stdout.split(separator: "\n").map {
                $0.split(separator: " ").joined(separator: " ")
            }
            for row in [
                "org.example.Gallery interface - - -", ".Nothing method - - -", ".Add method ii xs -",
                ".Numbers method ynqiuxtdb (ynqiuxtdb) -", ".Rows method a(sd)aad a(sd)aad -",
                ".Options method a{sv}v a{sv}v -", ".Pass method h h -", ".Keep method ay s -",
                ".Counter property t 0 -", ".Level property i 1 emits-change writable",
                ".Limit property u 5 const", ".Size property t 10 emits-invalidation",
                ".Table property a{sv} 1 \"a\" u 1 emits-change writable", ".Title property s \"first\" emits-change",
                ".Closed signal - - -", ".Moved signal i(sd) - -", "org.example.Other interface - - -",
                ".Only method - s -", "org.freedesktop.DBus.Properties interface - - -", ".GetAll method s a{sv} -",
                ".PropertiesChanged signal sa{sv}as - -", ".Introspect method - s -", ".Ping method - - -",
                ".GetMachineId method - s -",
            ] { #expect(rows.contains(row), "\(row)") }
        }

        @Test func gdbusReadsTheSameDocument() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let result = try station.run([
                "gdbus", "introspect", "--session", "--dest", Station.name, "--object-path", path, "--recurse",
            ])
            #expect(result.status == 0 && result.stderr.isEmpty)
            for text in [
                "Add(in  i a,\n          in  i b,\n          out x sum,\n          out s text);",
                "Moved(i from,\n            (sd) to);", "readwrite i Level = 1;", "readonly u Limit = 5;",
                "@org.freedesktop.DBus.Property.EmitsChangedSignal(\"invalidates\")", "node \(path)/guarded {",
            ] { #expect(result.stdout.contains(text), "\(text)") }
            let xml = try station.busctl("introspect", "--xml-interface", Station.name, path)
            let check = try station.python(
                "import sys, xml.etree.ElementTree as e; n = e.fromstring(sys.argv[2]);"
                    + "print(len(n.findall('interface')), [c.get('name') for c in n.findall('node')])", xml.stdout)
            #expect(check.stdout == "5 ['guarded']\n", "\(check.stderr)")
        }

        @Test func everyTypeGoesThroughATool() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            func call(_ member: String, _ arguments: String...) throws -> String {
                let result = try station.run(
                    ["busctl", "--address=\(station.bus.address)", "call", "--", Station.name, path, gallery, member]
                        + arguments)
                return result.stdout.isEmpty ? result.stderr : result.stdout
            }
            #expect(try call("Nothing").isEmpty)
            #expect(try call("Add", "ii", "2147483647", "2147483647") == "xs 4294967294 \"4294967294\"\n")
            #expect(
                try call(
                    "Numbers", "ynqiuxtdb", "255", "-32768", "65535", "-2147483648", "4294967295",
                    "-9223372036854775808", "18446744073709551615", "0.5", "true")
                    == "(ynqiuxtdb) 255 -32768 65535 -2147483648 4294967295 -9223372036854775808 "
                    + "18446744073709551615 0.5 true\n")
            #expect(
                try call("Texts", "so", "ä \"€\"", "/a/b") == "so \"\\303\\244 \\\"\\342\\202\\254\\\"\" \"/a/b\"\n")
            #expect(try call("Rows", "a(sd)aad", "0", "0") == "a(sd)aad 0 0\n")
            #expect(
                try call("Rows", "a(sd)aad", "2", "a", "1", "b", "2", "2", "0", "3", "1", "2", "3")
                    == "a(sd)aad 2 \"a\" 1 \"b\" 2 2 0 3 1 2 3\n")
            #expect(
                try call("Options", "a{sv}v", "2", "k", "as", "2", "x", "y", "j", "(ib)", "1", "false", "a{sv}", "0")
                    == "a{sv}v 2 \"j\" (ib) 1 false \"k\" as 2 \"x\" \"y\" a{sv} 0\n")
        }

        @Test func descriptorsGoThroughPython() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let result = try station.python(
                """
                import dbus, os, sys
                bus = dbus.bus.BusConnection(sys.argv[1])
                gallery = dbus.Interface(bus.get_object('org.example.Station', '/org/example/Gallery'), 'org.example.Gallery')
                r, w = os.pipe()
                os.write(gallery.Pass(w).take(), b'through')
                print(os.read(r, 20).decode())
                try:
                    gallery.Options({'fd': dbus.types.UnixFd(w)}, 1)
                except dbus.DBusException as e:
                    print(e.get_dbus_name(), e.get_dbus_message())
                """)
            #expect(
                result.stdout == """
                    through
                    org.freedesktop.DBus.Error.InvalidArgs the call brings a file descriptor, and takes none

                    """, "\(result.stderr)")
        }

        @Test func propertiesAreReadAndSet() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let get = try station.busctl("get-property", Station.name, path, gallery, "Level", "Title", "Table")
            #expect(get.stdout == "i 1\ns \"first\"\na{sv} 1 \"a\" u 1\n")
            #expect(try station.busctl("set-property", Station.name, path, gallery, "Level", "i", "7").status == 0)
            #expect(object.level == 7 && object.sets == 1)
            #expect(
                try station.busctl("set-property", Station.name, path, gallery, "Table", "a{sv}", "1", "z", "d", "0.5")
                    .status == 0)
            #expect(object.table == ["z": .double(0.5)])
            let client = try station.client()
            func all(_ interface: String) throws -> [String: Value] {
                try client.callAndWait(properties, "GetAll", interface).read([String: Value].self)
            }
            #expect(
                try all(gallery) == [
                    "Level": .int32(7), "Title": .string("first"), "Size": .uint64(10), "Limit": .uint32(5),
                    "Counter": .uint64(0),
                    "Table": .dictionary(
                        key: "s", value: "v", [.init(.string("z"), .variant(.double(0.5)))]),
                ])
            #expect(try all("").count == 6)
            #expect(try all("org.example.Other").isEmpty && all("org.freedesktop.DBus.Peer").isEmpty)
            #expect(try client.callAndWait(properties, "Get", "", "Limit").read(Value.self) == Value.uint32(5))
        }

        @Test func changesOfOneRoundTravelTogether() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            var notices: [(String, [String: Value], [String])] = []
            client.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { message in
                if let notice = try? message.read(String.self, [String: Value].self, [String].self) {
                    notices.append(notice)
                }
            }
            client.addMatch("type='signal',member='PropertiesChanged',path='\(path)'")
            _ = try client.callAndWait(Gallery.target, "Nothing")
            object.level = 3
            object.title = "second"
            for property: StaticString in ["Level", "Size", "Title", "Level", "Limit", "Counter", "Size"] {
                object.object?.changed(property, of: object.interface)
            }
            object.level = 4
            try station.until("notice") { notices.count == 1 }
            #expect(notices[0].0 == gallery && notices[0].2 == ["Size"])
            #expect(notices[0].1 == ["Level": .int32(4), "Title": .string("second")])
            // What emits nothing says nothing, and the next round's change is a notice of its own.
            object.object?.changed("Counter", of: object.interface)
            object.object?.changed("Limit", of: object.interface)
            try station.run(for: .milliseconds(30))
            #expect(notices.count == 1)
            _ = try client.callAndWait(properties, "Set", gallery, "Level", Value.int32(9))
            try station.until("second notice") { notices.count == 2 }
            #expect(notices[1].1 == ["Level": .int32(9)] && notices[1].2.isEmpty)
            // An object that is gone is quiet.
            let exported = try #require(object.object)
            exported.changed("Level", of: object.interface)
            station.connection.unexport(exported)
            exported.changed("Level", of: object.interface)
            try station.run(for: .milliseconds(30))
            #expect(notices.count == 2)
        }

        /// One call may change thousands of objects: whoever calls meanwhile does not wait until all of them have said so.
        @Test func thousandsTellTheirChangesInTurns() throws {
            final class Thing { var told = 0 }
            let station = try Station()
            let client = try station.client()
            let thing = Thing()
            let interface = Interface<Thing>(
                "org.example.Thing", methods: [],
                properties: [
                    Property("Level", .always) { (thing: Thing) in
                        thing.told += 1
                        return UInt32(1)
                    }
                ])
            let path = ObjectPath(literal: "/org/example/Thing")
            let objects = (0..<5_000).map { ExportedObject(path.appending(escaped: "\($0)"), [(interface, thing)]) }
            for object in objects { station.connection.export(object) }
            func change(_ count: Int) {
                for object in objects[..<count] { object.changed("Level", of: interface) }
            }
            change(20)
            // A turn ends early where the processor is taken away in it.
            var rounds = 0
            while thing.told < 20, rounds < 20 {
                try station.loop.runOnce(timeout: 0)
                rounds += 1
            }
            #expect(thing.told == 20 && rounds < 10)
            change(objects.count)
            try station.loop.runOnce(timeout: 0)
            #expect(thing.told < objects.count / 2)
            let peer = CallTarget(Station.name, ObjectPath(literal: "/"), "org.freedesktop.DBus.Peer")
            _ = try client.callAndWait(peer, "Ping")
            change(1)
            try station.until("all have told") { thing.told >= 5_021 }
            try station.run(for: .milliseconds(30))
            #expect(thing.told == 5_021)
        }

        @Test func aPrivateObjectTellsItsAudienceAlone() throws {
            let station = try Station()
            let (owner, stranger) = try (station.client(), station.client())
            let sender = PacedSender(on: station.connection)
            let object = Gallery.export(
                on: station.connection, audience: .init(sender.peer(owner.uniqueName), by: sender))
            var heard = ["owner": 0, "stranger": 0]
            for (name, client) in ["owner": owner, "stranger": stranger] {
                client.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { _ in
                    heard[name, default: 0] += 1
                }
            }
            stranger.addMatch("type='signal',member='PropertiesChanged'")
            _ = try stranger.callAndWait(Gallery.target, "Nothing")
            object.object?.changed("Level", of: object.interface)
            try station.until("notice") { heard["owner"] == 1 }
            try station.run(for: .milliseconds(30))
            #expect(heard == ["owner": 1, "stranger": 0])
        }

        /// Who has no room for a change is told of it when there is some, once, and what is the value then.
        @Test func aPrivateObjectSaysWhatChangedWhenThereIsRoom() throws {
            let station = try Station()
            let owner = try station.client()
            // It cannot be asked, and so is believed to read after a while.
            let sender = PacedSender(on: station.connection, patience: 100_000, pings: 0)
            let peer = sender.peer(owner.uniqueName)
            sender.count(FlowWindow.limit, to: peer)
            let object = Gallery.export(on: station.connection, audience: .init(peer, by: sender))
            var heard: [[String: Value]] = []
            owner.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { message in
                if let notice = try? message.read(String.self, [String: Value].self, [String].self) {
                    heard.append(notice.1)
                }
            }
            for level in 1...50 as ClosedRange<Int32> {
                object.level = level
                object.object?.changed("Level", of: object.interface)
            }
            try station.loop.runOnce(timeout: 0)
            #expect(heard.isEmpty)
            try station.until("the notice") { !heard.isEmpty }
            object.object?.changed("Title", of: object.interface)
            try station.until("the next") { heard.count > 1 }
            #expect(heard == [["Level": .int32(50)], ["Title": .string("first")]])
        }

        private let properties = CallTarget(Station.name, Gallery.path, "org.freedesktop.DBus.Properties")
    }
}
