import FocusCore
import Glibc

/// Which folders have been looked at, each of them once, and how many there may be: a link may lead back to one, and a few such links make
/// very many ways.
struct SeenFolders {
    /// What tells a folder from all others, whichever way leads there.
    private struct Place: Hashable {
        let device: dev_t
        let inode: ino_t

        /// The corresponding C function is `stat`. `nil`: it is no folder, or cannot be looked at.
        init?(_ path: String) {
            var status = stat()
            // SAFETY: the path is NUL-terminated for the call, and the status is ours.
            guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
            self.device = status.st_dev
            self.inode = status.st_ino
        }
    }

    private var places: Set<Place> = []

    /// Whether a folder is to be looked at.
    mutating func isNew(_ path: String) -> Bool {
        guard self.places.count < DesktopPlaces.mostFolders, let place = Place(path) else { return false }
        return self.places.insert(place).inserted
    }
}
