import Glibc
import Loop

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
