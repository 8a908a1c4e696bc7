package import Motion

/// What the shell does for the arbiter, in order.
package enum ArbiterAction: Sendable {
    /// Carry an event to an app.
    case deliver(Delivery)
    /// A verdict is final: keep it.
    case verdict(Verdict)
    /// A hit that changes nothing: its app has its verdict in this episode already. For the counters.
    case repeated(AppHandle, Hit, epoch: UInt64, Reason)
    /// Something followed in the life of an app.
    case life(AppHandle, LifeEffect)
    /// What comes of an app's wish for an assertion, and how long that lasts if anything of its budget is used yet.
    case assertion(AppHandle, AssertionRequest, LifeRefusal?, remaining: TimeSpan?)
    /// What comes of an app's wish to work in a mode.
    case activity(AppHandle, BackgroundMode, LifeRefusal?)
    /// A session stands otherwise now.
    case session(SessionEffect)
    /// An app is launched, or was.
    case launch(LaunchEffect)
}

/// An event on its way to an app.
package struct Delivery: Equatable, Sendable {
    package enum Route: String, Sendable {
        /// Send it now.
        case live
        /// Keep it until the app is back.
        case store
        /// Send it in a way that starts or resumes the app.
        case wake
    }

    package var app: AppHandle
    package var id: AppID
    package var epoch: UInt64
    package var generation: UInt64
    package var hit: Hit
    /// The app's name for the detector.
    package var detector: String
    package var route: Route
    package var terms: DeliveryTerms
    /// How strong the rule is that decided: who is launched first goes by it.
    package var strength: Int
    /// The app may consume the event or pass it on, until this arrival time; `nil` when nobody is next.
    package var answerBy: Timestamp?
}

/// What an app says to an event.
package enum Answer: String, Sendable {
    /// It has it. In `ordered`: nobody else is to get it.
    case consume
    /// In `ordered`: the next one may have it. Elsewhere as good as having it.
    case pass
}
