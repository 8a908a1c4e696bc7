/// What policy files and their directories were when they were read: to find out cheaply whether they still are.
package struct PolicyFilesState: Sendable {
    private let stamps: [(path: String, stamp: FileStamp?)]
    /// All of them had been left alone for long enough.
    private let isSettled: Bool

    init(stamps: [(path: String, stamp: FileStamp?)], began: Int64) {
        self.stamps = stamps
        self.isSettled = !stamps.contains { $0.stamp?.isYoung(at: began) ?? false }
    }

    /// Whether reading them again would say the same. It is not, if the last change was so short before that another one may
    /// not show.
    package var isUnchanged: Bool { self.isSettled && self.stamps.allSatisfy { FileStamp(path: $0.path) == $0.stamp } }
}
