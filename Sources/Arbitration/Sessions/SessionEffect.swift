/// What becomes of a session, to be told to its app.
package struct SessionEffect: Equatable, Sendable {
    package enum Change: Equatable, Sendable {
        /// It may sound: at once, or because nobody is in the way any more.
        case began
        /// It has to wait for this one.
        case waits(SessionMeeting)
        /// It is silent from now on.
        case interrupted(SessionMeeting)
        /// Its interruption is over. Without the hint it would not be heard if it went on.
        case resumed(hint: Bool)
        /// It is to be soft, for the sake of this one.
        case ducked(SessionMeeting)
        /// It may be as loud as before.
        case restored
        /// The screen is locked: it is not to be heard.
        case silenced
        /// The screen is unlocked.
        case audible

        package var name: String {
            switch self {
            case .began: "began"
            case .waits: "waits"
            case .interrupted: "interrupted"
            case .resumed: "resumed"
            case .ducked: "ducked"
            case .restored: "restored"
            case .silenced: "silenced"
            case .audible: "audible"
            }
        }

        /// Whom it is because of.
        package var meeting: SessionMeeting? {
            switch self {
            case .waits(let meeting), .interrupted(let meeting), .ducked(let meeting): meeting
            case .began, .resumed, .restored, .silenced, .audible: nil
            }
        }
    }

    package var key: SessionKey
    package var request: SessionRequest
    package var change: Change

    package init(key: SessionKey, request: SessionRequest, change: Change) {
        self.key = key
        self.request = request
        self.change = change
    }
}
