import FocusCore

/// Tells a desk of the one process that is in front, where a shell says no more than that.
struct FrontProcess {
    private let desk: DeskLink
    private var process: UInt32?

    init(_ desk: DeskLink) { self.desk = desk }

    /// This process's window is in front; `nil`: nobody's.
    mutating func set(_ process: UInt32?) {
        guard process != self.process else { return }
        if let process {
            self.desk.put(Self.id(process), WindowClaims(process: process), isHidden: false)
        }
        self.desk.setFront(process.map { [Self.id($0)] } ?? [])
        if let left = self.process { self.desk.close(Self.id(left)) }
        self.process = process
    }

    /// The shell is gone.
    mutating func leave() {
        self.process = nil
        self.desk.leave()
    }

    private static func id(_ process: UInt32) -> String { "pid:\(process)" }
}
