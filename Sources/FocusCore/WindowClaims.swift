import Motion

/// What a window says of itself, or its desktop of it: names, and a process. Anybody can say all of it but the process.
///
/// Titles are never kept: they say what people read and write.
package struct WindowClaims: Hashable, Sendable {
    /// Longest name that is kept, in bytes; as long as a bus name can be. A longer one is no name, and counts as none.
    package static let longestName = 255

    /// Wayland's `app_id`.
    package let appID: String?
    /// X11's `WM_CLASS`: its first part, the instance.
    package let instance: String?
    /// X11's `WM_CLASS`: its second part, the class.
    package let windowClass: String?
    /// X11's `_GTK_APPLICATION_ID`.
    package let gtkAppID: String?
    /// The process whose window it is, where the source has it from the display or the compositor, and not from the window alone.
    package let process: UInt32?
    /// X11's `WM_CLIENT_MACHINE` is another machine. The process, if there is one, then only carries the window, as `ssh` does.
    package let isElsewhere: Bool

    /// Claims as they came. What is empty, too long, would act on a terminal or takes long to compare is left out.
    package init(
        appID: String? = nil, instance: String? = nil, windowClass: String? = nil, gtkAppID: String? = nil,
        process: UInt32? = nil, isElsewhere: Bool = false
    ) {
        self.appID = Self.name(appID)
        self.instance = Self.name(instance)
        self.windowClass = Self.name(windowClass)
        self.gtkAppID = Self.name(gtkAppID)
        self.process = process == 0 ? nil : process
        self.isElsewhere = isElsewhere
    }

    /// Whether nothing is said by which an app could be found.
    package var isEmpty: Bool { self == WindowClaims() }

    /// How much room they take, in bytes.
    package var size: Int {
        [self.appID, self.instance, self.windowClass, self.gtkAppID].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    /// A claim, if it can be one.
    private static func name(_ text: String?) -> String? {
        guard let text, !text.isEmpty, text.utf8.count <= self.longestName,
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), text.isStreamSafe
        else { return nil }
        return text
    }
}
