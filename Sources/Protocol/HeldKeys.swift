/// The keys with which assertions, activities and their sessions are told of.
package enum HeldKey {
    package static let name = "name"
    /// The number of an assertion or activity among those of the app.
    package static let number = "number"
    package static let remaining = "remaining"
    package static let deadline = "deadline"
    package static let backgroundTime = "background-time-remaining"
    package static let warning = "warning"
    package static let sessionClass = "class"
    package static let mixes = "mix-with-others"
    package static let state = "state"
    package static let share = "share"
    package static let isSilenced = "silenced"
    /// Of an activity: whether it keeps the app going in the background.
    package static let keepsGoing = "keeps-going"
    package static let resume = "resume"
    package static let cell = "cell"
}
