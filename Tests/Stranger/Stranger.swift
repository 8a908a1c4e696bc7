import BusGrammar
import Glibc

/// Says to the daemons whatever their interfaces let one say, and much that they do not:
/// `test-stranger BUS SEED MESSAGES USER INTERFACE-FILES NAME...`.
///
/// The same seed says the same again; only numbers of events that came, which answers are made of, are others. It prints how often each
/// method was called, answered and refused, a line for each thing that is wrong, and figures. An empty USER: the one it is.
@main struct Stranger {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count > 5, let seed = UInt64(words[1]), let messages = Int(words[2]) else {
            fail("usage: test-stranger BUS SEED MESSAGES USER INTERFACE-FILES NAME...")
        }
        let grammar = BusGrammar(words[4].split(separator: ":").map { self.read(String($0)) })
        if let user = UInt32(words[3]) { self.become(user) }
        Talk(grammar, at: words[0], daemons: Array(words[5...]), seed: seed).run(messages: messages)
    }

    private static func become(_ user: UInt32) {
        guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
            fail("cannot become user \(user): errno \(errno)")
        }
    }

    private static func read(_ path: String) -> String {
        guard let file = unsafe fopen(path, "r") else { fail("cannot read \(path)") }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        _ = unsafe fclose(file)
        return String(decoding: bytes, as: UTF8.self)
    }
}
