import JostleClient

/// Shake to undo: says each shake, until Ctrl-C.
@main
struct Undo {
    static func main() throws {
        let client = try JostleApp(app: "org.example.Undo")
        client.onEvent = { event in print("undo: \(event.peak)") }
        try client.connect()
        try client.add([Detector("undo", preset: "shake")])
        print("shake to undo")
        try client.run()
    }
}
