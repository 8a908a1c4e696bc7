import CXCB
import FocusCore

extension X11Authority {
    /// What the file of `XAUTHORITY`, or `~/.Xauthority`, has for a display of this machine, if it has something.
    init(of display: UInt32) {
        // SAFETY: both texts are terminated and live for the call. What it gives is ours to free.
        guard let entry = unsafe CXCB_authority(X11Line.host, String(display)) else {
            self.init()
            return
        }
        defer { unsafe XauDisposeAuth(entry) }
        self.init(
            name: unsafe Self.bytes(entry.pointee.name, entry.pointee.name_length),
            secret: unsafe Self.bytes(entry.pointee.data, entry.pointee.data_length))
    }

    private static func bytes(_ start: UnsafeMutablePointer<CChar>?, _ count: UInt16) -> [UInt8] {
        // SAFETY: an entry has as many bytes as it says.
        unsafe Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(count)))
    }
}
