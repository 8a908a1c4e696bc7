import Loop

@testable import DBus

/// An object with a method, a property and a signal of every kind there is.
final class Gallery {
    typealias Row = Structure<String, Double>

    var level: Int32 = 1
    var title = "first"
    var size: UInt64 = 10
    var isOpen = false
    var table: [String: Value] = ["a": .uint32(1)]
    var counter: UInt64 = 0
    var sets = 0
    var kept: [MethodCall] = []
    /// What the guardian says: a refusal, leave, or nothing until it is asked to.
    var refusal: BusError?
    var isSlow = false
    var asked: [(BusError?) -> Void] = []

    let interface = Gallery.makeInterface()
    private(set) weak var object: ExportedObject?

    static let path = ObjectPath(literal: "/org/example/Gallery")
    static let guarded = ObjectPath(literal: "/org/example/Gallery/guarded")
    static let name: StaticString = "org.example.Gallery"
    static let target = CallTarget(Station.name, path, "org.example.Gallery")

    /// An object at `path` and one behind a guardian below it.
    static func export(on connection: Connection, audience: ExportedObject.Audience? = nil) -> Gallery {
        let gallery = Gallery()
        let other = Interface<Gallery>(
            "org.example.Other",
            methods: [
                Method("Where", out: ["where"]) { (_: Gallery, _) throws(BusError) -> String in "other" },
                Method("Only", out: ["where"]) { (_: Gallery, _) throws(BusError) -> String in "only here" },
            ])
        let object = ExportedObject(self.path, [(gallery.interface, gallery), (other, gallery)], audience: audience)
        gallery.object = object
        connection.export(object)
        connection.export(
            ExportedObject(
                self.guarded, [(gallery.interface, gallery)],
                guardian: { [unowned gallery] _, answer in
                    if gallery.isSlow { gallery.asked.append(answer) } else { answer(gallery.refusal) }
                }))
        return gallery
    }

    private static func makeInterface() -> Interface<Gallery> {
        Interface(
            self.name, methods: self.methods, properties: self.properties,
            signals: [
                SignalDescription("Moved", ["from", "to"], Int32.self, Row.self), SignalDescription("Closed"),
            ])
    }

    private static var methods: [Method<Gallery>] {
        [
            Method("Nothing") { (_: Gallery, _) throws(BusError) in },
            Method("Where", out: ["where"]) { (_: Gallery, _) throws(BusError) -> String in "gallery" },
            Method("Add", in: ["a", "b"], out: ["sum", "text"]) {
                (_: Gallery, _, a: Int32, b: Int32) throws(BusError) -> (Int64, String) in
                let sum = Int64(a) + Int64(b)
                return (sum, "\(sum)")
            },
            Method("Numbers", in: ["y", "n", "q", "i", "u", "x", "t", "d", "b"], out: ["all"]) {
                (
                    _: Gallery, _, y: UInt8, n: Int16, q: UInt16, i: Int32, u: UInt32, x: Int64, t: UInt64, d: Double,
                    b: Bool
                )
                    throws(BusError) -> Structure<UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Double, Bool> in
                Structure(y, n, q, i, u, x, t, d, b)
            },
            Method("Texts", in: ["s", "o"], out: ["s", "o"]) {
                (_: Gallery, _, s: String, o: ObjectPath) throws(BusError) -> (String, ObjectPath) in (s, o)
            },
            Method("Rows", in: ["rows", "blocks"], out: ["rows", "blocks"]) {
                (_: Gallery, _, rows: [Row], blocks: [[Double]]) throws(BusError) -> ([Row], [[Double]]) in
                (rows, blocks)
            },
            Method("Options", in: ["options", "any"], out: ["options", "any"]) {
                (_: Gallery, _, options: [String: Value], any: Value) throws(BusError) -> ([String: Value], Value) in
                (options, any)
            },
            Method("Pass", in: ["fd"], out: ["fd"]) {
                (_: Gallery, _, fd: WireDescriptor) throws(BusError) -> WireDescriptor in fd
            },
            Method("Fail", in: ["name", "text"]) { (_: Gallery, _, name: String, text: String) throws(BusError) in
                throw BusError(name, text)
            },
            Method("Who", out: ["sender"]) { (_: Gallery, call) throws(BusError) -> String in call.sender },
            Method(later: "Keep", in: ["size"], out: ["text"], as: String.self) {
                (gallery: Gallery, call, _: [UInt8]) throws(BusError) in gallery.kept.append(call)
            },
            Method(later: "Forget", out: ["text"], as: String.self) { (_: Gallery, _) throws(BusError) in },
        ]
    }

    private static var properties: [Property<Gallery>] {
        [
            Property(
                "Level", .always, get: { (gallery: Gallery) in gallery.level },
                set: { (gallery, _, level: Int32) throws(BusError) in
                    guard (0...10).contains(level) else {
                        throw .invalidArguments("Level is from 0 to 10, got \(level)")
                    }
                    gallery.level = level
                    gallery.sets += 1
                    gallery.object?.changed("Level", of: gallery.interface)
                }),
            Property("Title", .always, get: { (gallery: Gallery) in gallery.title }),
            Property("Size", .invalidates, get: { (gallery: Gallery) in gallery.size }),
            Property("Limit", .constant, get: { (_: Gallery) in UInt32(5) }),
            Property("Counter", .never, get: { (gallery: Gallery) in gallery.counter }),
            Property(
                "Table", .always, get: { (gallery: Gallery) in gallery.table },
                set: { (gallery, _, table: [String: Value]) throws(BusError) in gallery.table = table }),
        ]
    }
}
