import Arbitration
import DBus
import Glibc
import Motion

/// Knows who may ask for what, and refuses others.
struct Authority {
    private let bus: Connection

    init(on bus: Connection) { self.bus = bus }

    /// Whether a user is our own, or root.
    static func isTrusted(_ uid: UInt32) -> Bool { uid == 0 || uid == getuid() }

    /// Does something for a caller of our own user, or root.
    func ifTrusted(_ call: MethodCall, _ refusal: BusError, then: @escaping () -> Void) {
        self.bus.user(of: call.sender) { uid in
            if let uid, Self.isTrusted(uid) { then() } else { call.fail(refusal) }
        }
    }

    /// Does something for a caller whose user the bus knows.
    func ifKnown(_ call: MethodCall, then: @escaping (UInt32) -> Void) {
        self.bus.user(of: call.sender) { uid in
            guard let uid else { return call.fail(.accessDenied("the bus does not know your user")) }
            then(uid)
        }
    }

    /// Does something for a caller who may say what state apps are in, with its user and its process, if that is known.
    ///
    /// The bus is asked about each call alike, though it may have been before: what one says is heard in the order in which it was
    /// said.
    func ifReporter(
        among reporters: Policy.Entitled, _ call: MethodCall, then: @escaping (UInt32, UInt32?) -> Void
    ) {
        self.bus.credentials(of: call.sender) { credentials in
            guard let credentials, let user = credentials.user else {
                return call.fail(.accessDenied("the bus does not know your user"))
            }
            let process = credentials.process.flatMap { UInt32(exactly: $0) }
            self.isReporter(among: reporters, call.sender, of: user) { isReporter in
                if isReporter { return then(user, process) }
                let who =
                    switch (reporters, self.bus.address == .system) {
                    case (.named, false): "who has MayReportForeground in policy"
                    case (_, false): "the broker's own user and root"
                    case (_, true): "root, and who has MayReportForeground in policy,"
                    }
                call.fail(.accessDenied("only \(who) can say that"))
            }
        }
    }

    /// Whether a connection may say what state apps are in.
    ///
    /// That is whoever policy names. On the system bus it is root besides; elsewhere, if policy names nobody, anybody of our
    /// own user, and root.
    func isReporter(
        among reporters: Policy.Entitled, _ sender: String, of user: UInt32, _ answer: @escaping (Bool) -> Void
    ) {
        let isSystem = self.bus.address == .system
        switch reporters {
        case .everybody: return answer(true)
        case .nobodyNamed: break
        case .named(let apps): if !isSystem { return self.isOwner(of: apps[...], sender, answer) }
        }
        if user == 0 || (!isSystem && user == getuid()) { return answer(true) }
        guard case .named(let apps) = reporters else { return answer(false) }
        self.isOwner(of: apps[...], sender, answer)
    }

    /// Does something for a caller who may have apps launched.
    func ifPusher(
        among pushers: Policy.Entitled, _ call: MethodCall, then: @escaping () -> Void
    ) throws(BusError) {
        switch pushers {
        case .everybody: then()
        case .nobodyNamed: throw .accessDenied("only who has MayPush in policy can launch apps, and nobody has")
        case .named(let apps):
            self.isOwner(of: apps[...], call.sender) { isOwner in
                if isOwner { then() } else { call.fail(.accessDenied("only who has MayPush in policy can say that")) }
            }
        }
    }

    /// Whether a connection has the name of one of these apps.
    private func isOwner(of apps: ArraySlice<AppID>, _ sender: String, _ answer: @escaping (Bool) -> Void) {
        guard let app = apps.first else { return answer(false) }
        guard AppID.isValid(app.name) else { return self.isOwner(of: apps.dropFirst(), sender, answer) }
        self.bus.callBus("GetNameOwner", app.name) { result in
            if (try? result.take().read(reply: String.self)) == sender { return answer(true) }
            self.isOwner(of: apps.dropFirst(), sender, answer)
        }
    }

    /// Lets a call about an app through. Its object answers its owner, the same user and root; to others it is not there, as
    /// introspection says.
    func admit(_ call: MethodCall, to client: Client, _ answer: @escaping (BusError?) -> Void) {
        if call.sender == client.uniqueName { return answer(nil) }
        self.bus.user(of: call.sender) { uid in
            let isAllowed = client.isShown(to: call.sender, of: uid)
            answer(isAllowed ? nil : .noObject(at: call.message.path ?? ""))
        }
    }
}
