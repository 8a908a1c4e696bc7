/// Somebody who knows which windows there are and which is in front. It tells a desk, and comes back by itself when its display does.
protocol FocusSource: AnyObject {
    /// What the broker knows it by: `wlr:wayland-1`.
    var name: String { get }
    /// The desk it tells.
    var desk: DeskLink { get }
    /// Looks for its display.
    func start()
    /// Lets its display go.
    func stop()
}
