import Arbitration
import DBus
import Glibc
import Motion

/// Knows who may ask for what, and refuses others.
struct Authority {
    private let bus: Connection

    init(on bus: Connection) { self.bus = bus }

    /// Does something for a caller of our own user, or root.
    func ifTrusted(_ call: MethodCall, _ refusal: BusError, then: @escaping () -> Void) {
        self.bus.user(of: call.sender) { uid in
            if let uid, uid == 0 || uid == getuid() { then() } else { call.fail(refusal) }
        }
    }

    /// Does something for a caller whose user the bus knows.
    func ifKnown(_ call: MethodCall, then: @escaping (UInt32) -> Void) {
        self.bus.user(of: call.sender) { uid in
            guard let uid else { return call.fail(.accessDenied("the bus does not know your user")) }
            then(uid)
        }
    }

    /// Does something for a caller who may say what state apps are in.
    ///
    /// That is whoever policy names. On the system bus it is root besides; elsewhere, if policy names nobody, anybody of our
    /// own user, and root.
    func ifReporter(among reporters: Policy.Entitled, _ call: MethodCall, then: @escaping () -> Void) {
        let isSystem = self.bus.address == .system
        switch reporters {
        case .everybody: return then()
        case .nobodyNamed: break
        case .named(let apps): if !isSystem { return self.ifOwner(of: apps[...], "MayReportForeground", call, then) }
        }
        self.bus.user(of: call.sender) { uid in
            if let uid, uid == 0 || (!isSystem && uid == getuid()) { return then() }
            switch reporters {
            case .everybody, .nobodyNamed:
                let who =
                    isSystem ? "root, and who has MayReportForeground in policy," : "the broker's own user and root"
                call.fail(.accessDenied("only \(who) can say that"))
            case .named(let apps): self.ifOwner(of: apps[...], "MayReportForeground", call, then)
            }
        }
    }

    /// Does something for a caller who may have apps launched.
    func ifPusher(
        among pushers: Policy.Entitled, _ call: MethodCall, then: @escaping () -> Void
    ) throws(BusError) {
        switch pushers {
        case .everybody: then()
        case .nobodyNamed: throw .accessDenied("only who has MayPush in policy can launch apps, and nobody has")
        case .named(let apps): self.ifOwner(of: apps[...], "MayPush", call, then)
        }
    }

    /// - Parameter right: the key of the policy that gives those apps the right.
    private func ifOwner(of apps: ArraySlice<AppID>, _ right: String, _ call: MethodCall, _ then: @escaping () -> Void)
    {
        guard let app = apps.first else {
            return call.fail(.accessDenied("only who has \(right) in policy can say that"))
        }
        guard AppID.isValid(app.name) else { return self.ifOwner(of: apps.dropFirst(), right, call, then) }
        self.bus.callBus("GetNameOwner", app.name) { result in
            if (try? result.take().read(reply: String.self)) == call.sender { return then() }
            self.ifOwner(of: apps.dropFirst(), right, call, then)
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
