import Motion

/// Why a request for a detector was refused, in one line that helps.
package struct DetectorProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of refusal, for callers that answer with different errors.
    package enum Code: Equatable, Sendable {
        /// No such option.
        case unknownKey
        /// An option's value has the wrong type, unit or range, or the condition does not read.
        case invalidValue
        /// A limit of `DetectionLimits` is crossed; the payload is the limit's name.
        case limitExceeded(String)
    }

    package var code: Code
    /// The detector's name as the app gave it.
    package var detector: String
    /// The option it is about, if it is about one.
    package var key: String?
    /// The place in the option's text, counted from 1 in characters, if there is one.
    package var column: Int?
    package var message: String

    package init(_ code: Code, detector: String, key: String? = nil, column: Int? = nil, _ message: String) {
        self.code = code
        self.detector = detector
        self.key = key
        self.column = column
        self.message = message
    }

    package var description: String {
        var place = "detector '\(printable(self.detector))'"
        if let key { place += ", \(printable(key))" }
        if let column { place += ", column \(column)" }
        return "\(place): \(self.message)"
    }
}
