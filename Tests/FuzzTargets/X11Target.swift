import FocusCore

/// What an X server may say, in pieces as they come.
enum X11Target {
    /// What is handed on, all together.
    private struct Heard: Equatable {
        var roots: [UInt32] = []
        var bytes: [UInt8] = []
        var isOver = false
        var problem: String?
    }

    /// The first byte says how the rest is cut. However it is, the same is handed on: what was said, as far as it is whole.
    static func run(_ bytes: [UInt8]) -> String? {
        let said = Array(bytes.dropFirst())
        let heard = self.hear(said, cutBy: max(1, Int(bytes.first ?? 64)))
        if let problem = heard.problem { return problem }
        guard heard == self.hear(said, cutBy: max(1, said.count)) else { return "pieces are read otherwise" }
        guard said.starts(with: heard.bytes) else { return "what was not said" }
        return heard.bytes.isEmpty || !heard.roots.isEmpty ? nil : "a server without a screen"
    }

    private static func hear(_ bytes: [UInt8], cutBy size: Int) -> Heard {
        var messages = X11Messages()
        var heard = Heard()
        for start in stride(from: 0, to: bytes.count, by: size) where !heard.isOver {
            messages.add(bytes[start..<min(start + size, bytes.count)])
            while let parcel = messages.next() {
                switch parcel {
                case .greeting(let greeting):
                    heard.roots = greeting.roots
                    heard.bytes += greeting.bytes
                case .messages(let messages):
                    heard.problem = heard.problem ?? self.problem(of: messages)
                    heard.bytes += messages
                }
            }
            heard.isOver = messages.isOver
        }
        return heard
    }

    /// A parcel has whole messages, and more than one only where they are short.
    private static func problem(of parcel: [UInt8]) -> String? {
        var (place, count) = (0, 0)
        while place < parcel.count {
            guard parcel.count - place >= 32 else { return "a part of a message" }
            var length = 32
            if parcel[place] == 1 || parcel[place] & 0x7F == 35 {
                for byte in 0..<4 { length += 4 * Int(parcel[place + 4 + byte]) << (8 * byte) }
            }
            place += length
            count += 1
        }
        guard place == parcel.count, count > 0 else { return "a part of a message" }
        let most = count == 1 ? X11Messages.longestMessage : X11Messages.longestParcel
        return parcel.count <= most ? nil : "a parcel of \(parcel.count) bytes"
    }
}
