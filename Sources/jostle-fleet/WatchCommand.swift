import DaemonSupport
import FleetCore
import MQTT

/// `watch`: what happens on devices, as it happens.
enum WatchCommand {
    private static let count = TypedOption.number(
        "count", "N", "end after so many lines", in: 1...1_000_000_000, expected: "a number above 0")
    private static let past = CommandOption.flag("past", "also what devices catch up on after an outage")

    static let syntax = CommandSyntax(
        "watch", "show what happens on devices, as it happens", options: [count, past, ServerOption.json],
        arguments: [CommandArgument("DEVICE", "only this device", .optional)], exits: ServerOption.exits
    ) { arguments in
        let device = arguments.positionals.first
        if let device, !FleetTopics.isName(device) { throw UsageProblem("watch: '\(device)' is no name of a device") }
        let base = "\(FleetTopics.root)/\(device ?? "+")"
        var topics = ["presence", "reported", "event/+", "apps/+/event/+", "apps/+/verdict"]
        if arguments.has(past) { topics += ["past/event", "past/verdict", "gap"] }
        let most = try arguments.value(of: count) ?? .max
        let session = try FleetSession(arguments)
        var shown = 0
        var isRead = true
        var failure: (any Swift.Error)?
        let take: (Publication) -> Void = { publication in
            guard shown < most, isRead, failure == nil else { return }
            shown += 1
            let text = escapedLine(line(publication, isJSON: arguments.has(ServerOption.json))) + "\n"
            do {
                isRead = try isWritten(text, unless: isToldToEnd)
            } catch {
                failure = error
            }
        }
        session.onPublication = take
        try session.subscribe(to: topics.map { "\(base)/\($0)" })
        try session.waitForEnd { shown >= most || !isRead || failure != nil }
        if let failure { throw failure }
    }

    private static func line(_ publication: Publication, isJSON: Bool) -> String {
        let rest = publication.topic.split(separator: "/").dropFirst(2)
        let (device, what) = (rest.first ?? "", rest.dropFirst().joined(separator: "/"))
        let value = try? PayloadFormat.read(
            publication.payload, contentType: publication.properties.contentType)
        guard isJSON else {
            return "\(device)  \(what)  " + (value.map { JSONCoding.text($0) } ?? "(cannot be read)")
        }
        return JSONCoding.text(
            .fields([
                "device": .text(String(device)), "what": .text(what), "retained": .bool(publication.isRetained),
                "message": value ?? .null,
            ]))
    }
}
