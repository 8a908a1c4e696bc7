import TestSupport

/// The broker's own functions that an event needs, as callgrind sees them called: what the linker is to put side by side.
///
/// The broker sleeps between two events, and finds little of its code in the processor's caches when it wakes. What an event needs
/// are some hundred small functions; side by side they take a tenth of the pages that they take where the compiler leaves them.
struct EventFunctions {
    /// How often each was called.
    private var calls: [String: Int] = [:]
    /// Whatever is called more seldom for an event, no event waits for.
    private static let least = 0.3

    /// Their names in the program's symbol table, the most called first: of the loop's thread, then of the thread that writes.
    static func run(_ plan: Plan) throws(Failure) -> [String] {
        let (few, many) = plan.counted
        let (short, long) = (try self.threads(events: few), try self.threads(events: many))
        var names: [String] = []
        var known: Set<String> = []
        for (short, long) in zip(short, long) {
            // Starting and ending cancel out.
            let added = long.calls.map { (name: $0.key, calls: $0.value - (short.calls[$0.key] ?? 0)) }
            for (name, calls) in added.sorted(by: { ($0.calls, $1.name) > ($1.calls, $0.name) })
            where Double(calls) >= Double(many - few) * self.least && known.insert(name).inserted {
                names.append(name)
            }
        }
        guard !names.isEmpty else { throw Failure("callgrind saw none of the broker's functions") }
        // Swift's own library was compiled without sections: the first of its functions brings all of it along, 2.4 MB.
        let isOfLibrary = { (name: String) in name.hasPrefix("$sS") || name.hasPrefix("$ss") }
        return names.filter { !isOfLibrary($0) } + names.filter(isOfLibrary)
    }

    private static func threads(events: Int) throws(Failure) -> [Self] {
        var threads: [Self] = []
        try InstructionBenchmark.profile(events: events) { profile throws(Failure) in
            for thread in 1...2 {
                threads.append(Self(String(decoding: try contents(of: "\(profile)-0\(thread)"), as: UTF8.self)))
            }
        }
        return threads
    }

    /// Reads a profile.
    init(_ profile: String) {
        var objects: [Substring: Substring] = [:]
        var functions: [Substring: Substring] = [:]
        /// A name is said once, with a number, and is the number from then on.
        func name(_ text: Substring, in names: inout [Substring: Substring]) -> Substring {
            guard let end = text.firstIndex(of: ")") else { return text }
            let number = text[...end]
            let rest = text[end...].dropFirst().drop { $0 == " " }
            if !rest.isEmpty { names[number] = rest }
            return names[number] ?? ""
        }
        var (object, callee, calleeObject) = ("" as Substring, "" as Substring, nil as Substring?)
        for line in profile.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let value = line[equals...].dropFirst()
            switch line[..<equals] {
            case "ob": object = name(value, in: &objects)
            case "fn": _ = name(value, in: &functions)
            case "cob": calleeObject = name(value, in: &objects)
            case "cfn": callee = name(value, in: &functions)
            case "calls":
                // One that calls itself is told again, with its depth; one without a symbol by its address.
                if (calleeObject ?? object).hasSuffix(InstructionBenchmark.copied), !callee.hasPrefix("0x"),
                    let function = callee.split(separator: "'").first, let count = value.split(separator: " ").first
                {
                    self.calls[String(function), default: 0] += Int(count) ?? 0
                }
                calleeObject = nil
            default: break
            }
        }
    }
}
