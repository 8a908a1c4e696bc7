import Arbitration
import DBus
import Motion

/// Knows who may ask for what, and refuses others.
///
/// Who runs in a sandbox is not its user: it may do what any app may, see its own app, and report what policy lets it.
struct Authority {
    private let bus: Connection

    init(on bus: Connection) { self.bus = bus }

    /// Does something for a caller that is our own user, or root.
    func ifTrusted(_ call: MethodCall, _ refusal: BusError, then: @escaping () -> Void) {
        self.ifKnown(call) { identity in
            if identity.isTrusted { then() } else { call.fail(refusal) }
        }
    }

    /// Does something for a caller whom the bus knows.
    func ifKnown(_ call: MethodCall, then: @escaping (CallerIdentity) -> Void) {
        self.bus.identity(of: call.sender) { answer in
            switch answer {
            case .success(let identity): then(identity)
            case .failure(let error): call.fail(error)
            }
        }
    }

    /// Does something for a caller who may say what state apps are in, with its user and its process, if that is known.
    ///
    /// The bus is asked about each call alike, though it may have been before: what one says is heard in the order in which it was
    /// said.
    func ifReporter(
        among reporters: Policy.Entitled, _ call: MethodCall, then: @escaping (UInt32, UInt32?) -> Void
    ) {
        // Asked together with what follows, so that who ends right after its call is there for both.
        self.bus.identity(of: call.sender) { _ in }
        self.bus.credentials(of: call.sender) { told in
            let credentials: ConnectionCredentials
            switch told {
            case .success(let known): credentials = known
            case .failure(let error): return call.fail(error)
            }
            guard let user = credentials.user else { return call.fail(.unknownCaller) }
            let process = credentials.process.flatMap { UInt32(exactly: $0) }
            self.isReporter(among: reporters, call.sender) { answer in
                switch answer {
                case .success(true): then(user, process)
                case .success(false):
                    let who =
                        switch (reporters, self.bus.address == .system) {
                        case (.named, false): "who has MayReportForeground in policy"
                        case (_, false): "the broker's own user and root, in no sandbox,"
                        case (_, true): "root, and who has MayReportForeground in policy,"
                        }
                    call.fail(.accessDenied("only \(who) can say that"))
                case .failure(let error): call.fail(error)
                }
            }
        }
    }

    /// Whether a connection may say what state apps are in.
    ///
    /// That is whoever policy names. On the system bus it is root besides; elsewhere, if policy names nobody, our own user, and root.
    func isReporter(
        among reporters: Policy.Entitled, _ sender: String, _ answer: @escaping (Result<Bool, BusError>) -> Void
    ) {
        let isSystem = self.bus.address == .system
        switch reporters {
        case .everybody: return answer(.success(true))
        case .nobodyNamed: break
        case .named(let apps): if !isSystem { return self.isOwner(of: apps[...], sender, answer) }
        }
        self.bus.identity(of: sender) { told in
            guard case .success(let identity) = told else { return answer(told.map { _ in false }) }
            if isSystem ? identity.isRoot : identity.isTrusted { return answer(.success(true)) }
            guard case .named(let apps) = reporters else { return answer(.success(false)) }
            self.isOwner(of: apps[...], sender, answer)
        }
    }

    /// Does something for a caller who may have apps launched.
    func ifPusher(
        among pushers: Policy.Entitled, _ call: MethodCall, then: @escaping () -> Void
    ) throws(BusError) {
        switch pushers {
        case .everybody: then()
        case .nobodyNamed: throw .accessDenied("only who has MayPush in policy can launch apps, and nobody has")
        case .named(let apps):
            self.isOwner(of: apps[...], call.sender) { answer in
                switch answer {
                case .success(true): then()
                case .success(false): call.fail(.accessDenied("only who has MayPush in policy can say that"))
                case .failure(let error): call.fail(error)
                }
            }
        }
    }

    /// Whether a connection has the name of one of these apps.
    private func isOwner(
        of apps: ArraySlice<AppID>, _ sender: String, _ answer: @escaping (Result<Bool, BusError>) -> Void
    ) {
        guard let app = apps.first else { return answer(.success(false)) }
        guard AppID.isValid(app.name) else { return self.isOwner(of: apps.dropFirst(), sender, answer) }
        self.bus.callBus("GetNameOwner", app.name) { result in
            do throws(BusError) {
                if try result.take().read(reply: String.self) == sender { return answer(.success(true)) }
            } catch {
                // Whatever else the bus answers, it has not said that the name is another's.
                guard error.isNameFree else { return answer(.failure(.untoldCaller(error))) }
            }
            self.isOwner(of: apps.dropFirst(), sender, answer)
        }
    }

    /// Lets a call about an app through. Its object answers its owner, whose app it is and root; to others it is not there, as
    /// introspection says.
    func admit(_ call: MethodCall, to client: Client, _ answer: @escaping (BusError?) -> Void) {
        if call.sender == client.uniqueName { return answer(nil) }
        self.bus.identity(of: call.sender) { told in
            do throws(BusError) {
                let isAllowed = client.isShown(to: call.sender, try told.get())
                answer(isAllowed ? nil : .noObject(at: call.message.path ?? ""))
            } catch {
                answer(error)
            }
        }
    }
}

extension CallerIdentity {
    /// Whether it is whose an app is: the user, or whoever runs in the app's own sandbox.
    func owns(_ app: AppID, of user: UInt32?) -> Bool {
        guard self.user == user else { return false }
        switch self.sandbox {
        case nil: return true
        case .app(let id): return !app.isAnonymous && app.name == id
        case .unknown: return false
        }
    }
}
