package import Loop

extension Client {
    /// Connects to the first of a server's addresses at which it takes us, and returns when it has: it waits for that, as a program may
    /// that has nothing else to do.
    ///
    /// - Parameters:
    ///   - patience: How long each address is tried, in µs.
    ///   - isGivenUp: Nobody wants it any more.
    package static func connected(
        _ settings: ConnectionSettings, to addresses: [String], on loop: EventLoop, patience: Int64,
        unless isGivenUp: () -> Bool = { false }
    ) throws(MQTTProblem) -> Client {
        var problem = MQTTProblem("nobody knows where it is")
        for address in addresses {
            do throws(MQTTProblem) {
                return try Self.connected(settings, to: address, on: loop, patience: patience, unless: isGivenUp)
            } catch {
                problem = error
            }
        }
        throw problem
    }

    private static func connected(
        _ settings: ConnectionSettings, to address: String, on loop: EventLoop, patience: Int64,
        unless isGivenUp: () -> Bool
    ) throws(MQTTProblem) -> Client {
        let client = try Client(settings, on: loop)
        var isTaken = false
        var isLate = false
        var ending: MQTTProblem?
        client.onEvent = { event in
            switch event {
            case .connected: isTaken = true
            case .ended(let problem): ending = problem
            case .acknowledged, .subscribed, .arrived: break
            }
        }
        try client.connect(to: address)
        let timer = loop.schedule(after: patience) { isLate = true }
        defer { loop.cancel(timer) }
        do throws(SystemError) {
            try loop.run(until: { isTaken || isLate || ending != nil || isGivenUp() })
        } catch {
            throw MQTTProblem("\(error)")
        }
        if let ending { throw ending }
        guard isTaken else { throw MQTTProblem("it does not answer") }
        client.onEvent = { _ in }
        return client
    }
}
