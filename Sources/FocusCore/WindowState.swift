/// Where a window is, the best last.
package enum WindowState: String, Comparable, Sendable, CaseIterable {
    /// Minimised, or on a workspace that nobody sees.
    case hidden
    case visible
    /// It has the keyboard.
    case front

    private var rank: Int {
        switch self {
        case .hidden: 0
        case .visible: 1
        case .front: 2
        }
    }

    package static func < (a: WindowState, b: WindowState) -> Bool { a.rank < b.rank }
}
