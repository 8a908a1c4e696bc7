/// What a colour means. Each is readable on light and on dark, and none is the only thing that says something.
package enum Tone: String, Sendable, CaseIterable {
    /// It was as it should be: an event, an app in front.
    case good
    /// It was refused, or failed.
    case bad
    /// It needs a look: a near miss, a gap.
    case warn
    /// The thing itself, where nothing is good or bad.
    case main
    /// Another thing beside it.
    case second
    /// A third and a fourth one.
    case third
    case fourth
    /// It is there, and little more.
    case calm

    /// Its class in the style of the page.
    var name: String { "t-\(self.rawValue)" }

    /// One for each of several things that stand beside each other.
    package static func of(_ index: Int) -> Tone {
        let all: [Tone] = [.main, .second, .third, .fourth]
        return all[((index % all.count) + all.count) % all.count]
    }
}
