import Motion

/// Calls that cannot be served before it is known whose they are, and the questions for that.
///
/// The bus knows, and is asked once for each connection. Anybody can have many connections and many calls wait so; there is room for
/// some bytes, and whichever connection has most of them loses its latest call: none of those of others. Not `Sendable`: it belongs
/// to the loop's thread.
final class UnknownCallers {
    private unowned let connection: Connection
    /// Each caller stands for himself.
    private var calls = CallQueue<MethodCall>()
    /// Who waits for the answers that are under way.
    private var questions: [String: [(CallerAnswer) -> Void]] = [:]
    /// Says in which sandbox whoever made a connection runs, or why that cannot be seen now; `nil`: nobody looks for sandboxes.
    var findSandbox: ((ConnectionCredentials) throws(BusError) -> CallerIdentity.Sandbox?)?
    /// How often the bus was asked.
    private(set) var asked: UInt64 = 0

    init(of connection: Connection) { self.connection = connection }

    /// Tells whose a connection is, as the bus says; whoever wants to know while it is being asked hears the same.
    func ask(for name: String, then: @escaping (CallerAnswer) -> Void) {
        // Only a unique name means the same for both.
        if name.hasPrefix(":"), self.questions[name] != nil {
            self.questions[name]?.append(then)
            return
        }
        self.asked &+= 1
        if name.hasPrefix(":") { self.questions[name] = [then] }
        self.askBus(name) { [weak self] answer in
            guard name.hasPrefix(":") else { return then(answer) }
            guard let waiting = self?.questions.removeValue(forKey: name) else { return }
            for then in waiting { then(answer) }
        }
    }

    private func askBus(_ name: String, _ then: @escaping (CallerAnswer) -> Void) {
        guard let findSandbox else {
            return self.connection.callBus("GetConnectionUnixUser", name) { result in
                let user: UInt32
                do throws(BusError) {
                    user = try result.take().read(reply: UInt32.self)
                } catch {
                    // That is the bus's word for a connection of which it knows no user.
                    return then(.failure(error.hasFailed ? .unknownCaller : .untoldCaller(error)))
                }
                then(.success(CallerIdentity(user: user)))
            }
        }
        self.connection.credentials(of: name) { result in
            let identity: CallerIdentity
            do throws(BusError) {
                let credentials = try result.get()
                guard let user = credentials.user else { throw .unknownCaller }
                identity = CallerIdentity(user: user, sandbox: try findSandbox(credentials))
            } catch {
                return then(.failure(error))
            }
            then(.success(identity))
        }
    }

    var usage: LimitUsage {
        LimitUsage("unidentified-call-bytes", CallLimits.waitingBytes, heldBy: self.calls.waitingBytes)
    }

    func hasCalls(of sender: String) -> Bool { self.calls.waiting(of: sender) > 0 }

    /// Keeps a call until its user is known. Returns those that there is no room for.
    func add(_ call: MethodCall) -> [MethodCall] {
        // It was not read yet.
        call.awaitsLeave = true
        let refused = self.calls.offer(call, from: call.sender, bytes: call.message.size)
        for refused in refused { refused.awaitsLeave = false }
        return refused
    }

    /// Hands out the calls of one caller, in their order.
    func take(of sender: String) -> [MethodCall] { self.released(self.calls.drop(sender)) }

    func takeAll() -> [MethodCall] { self.released(self.calls.dropAll()) }

    private func released(_ calls: [MethodCall]) -> [MethodCall] {
        for call in calls { call.awaitsLeave = false }
        return calls
    }
}
