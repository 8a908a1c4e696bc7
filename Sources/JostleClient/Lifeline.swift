import DBus
import Glibc
import Loop

/// Holds something of ours at the broker for as long as it is open; the broker ends it by closing its end.
struct Lifeline: ~Copyable {
    private let descriptor: OwnedDescriptor

    /// Takes what the broker gave.
    init(_ descriptor: WireDescriptor) throws(JostleError) {
        guard let own = descriptor.take() else {
            throw JostleError(kind: .failed, name: "", message: "the broker gave no descriptor")
        }
        self.descriptor = own
    }

    /// Whether the broker closed its end. It never writes anything.
    var isEnded: Bool {
        var byte: UInt8 = 0
        // SAFETY: the kernel writes at most the one byte. Our end does not block.
        return unsafe read(self.descriptor.raw, &byte, 1) == 0
    }
}
