import EventLoop
import Glibc

/// A small generator with a seed, so that a failing run can be had again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Takes everything out of a descriptor that does not wait.
func drain(_ descriptor: Int32) -> String {
    var result: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return String(decoding: result, as: UTF8.self) }
        result += bytes[..<count]
    }
}
