/// A message to be sent, as its fields say.
package struct BusMessage: Sendable {
    package enum Kind: UInt8, Sendable {
        case call = 1
        case answer, error, signal
    }

    package var kind: Kind
    package var destination: String?
    package var path: String?
    package var interface: String?
    package var member: String?
    package var errorName: String?
    package var answers: UInt32?
    package var wantsAnswer = true
    package var descriptors = 0
    package var signature = ""
    package var body = WireBytes()

    package init(_ kind: Kind, to destination: String?) {
        self.kind = kind
        self.destination = destination
    }

    package static func call(
        _ destination: String, _ path: String, _ interface: String?, _ member: String
    ) -> BusMessage {
        var message = BusMessage(.call, to: destination)
        (message.path, message.interface, message.member) = (path, interface, member)
        return message
    }

    /// The whole of it, as it travels.
    package func bytes(serial: UInt32) -> [UInt8] {
        var head = WireBytes()
        head.byte(UInt8(ascii: "l"))
        head.byte(self.kind.rawValue)
        head.byte(self.wantsAnswer ? 0 : 1)
        head.byte(1)
        head.number(UInt32(self.body.bytes.count))
        head.number(serial)
        head.array(alignedTo: 8) { fields in
            func field(_ code: UInt8, _ type: String, _ write: (inout WireBytes) -> Void) {
                fields.align(8)
                fields.byte(code)
                fields.signature(type)
                write(&fields)
            }
            if let path = self.path { field(1, "o") { $0.string(path) } }
            if let interface = self.interface { field(2, "s") { $0.string(interface) } }
            if let member = self.member { field(3, "s") { $0.string(member) } }
            if let name = self.errorName { field(4, "s") { $0.string(name) } }
            if let serial = self.answers { field(5, "u") { $0.number(serial) } }
            if let destination = self.destination { field(6, "s") { $0.string(destination) } }
            if !self.signature.isEmpty { field(8, "g") { $0.signature(self.signature) } }
            if self.descriptors > 0 { field(9, "u") { $0.number(UInt32(self.descriptors)) } }
        }
        head.align(8)
        return head.bytes + self.body.bytes
    }
}

/// What the head of a message that came says.
package struct ReceivedHead: Sendable {
    package private(set) var kind: UInt8 = 0
    /// The head and the body, in bytes.
    package private(set) var size = 0
    /// Where the body begins.
    package private(set) var body = 0
    package private(set) var serial: UInt32 = 0
    package private(set) var answers: UInt32 = 0
    package private(set) var sender = ""
    package private(set) var member = ""
    package private(set) var errorName = ""
    package private(set) var signature = ""

    /// `nil`: it is not whole yet. The bus has checked what it hands on.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard let content = wireNumber(UInt32.self, at: 4, of: bytes),
            let serial = wireNumber(UInt32.self, at: 8, of: bytes),
            let fields = wireNumber(UInt32.self, at: 12, of: bytes)
        else { return nil }
        self.body = (16 + Int(fields) + 7) & ~7
        self.size = self.body + Int(content)
        guard bytes.count >= self.size else { return nil }
        (self.kind, self.serial) = (bytes[bytes.startIndex + 1], serial)
        var place = 16
        while place < 16 + Int(fields) {
            place = (place + 7) & ~7
            let code = bytes[bytes.startIndex + place]
            // One letter of signature in each.
            let type = bytes[bytes.startIndex + place + 2]
            place += 4
            switch type {
            case UInt8(ascii: "u"):
                let number = wireNumber(UInt32.self, at: place, of: bytes) ?? 0
                if code == 5 { self.answers = number }
                place += 4
            case UInt8(ascii: "g"):
                let length = Int(bytes[bytes.startIndex + place])
                self.signature = Self.text(bytes, place + 1, length)
                place += length + 2
            default:
                let length = Int(wireNumber(UInt32.self, at: place, of: bytes) ?? 0)
                switch code {
                case 3: self.member = Self.text(bytes, place + 4, length)
                case 4: self.errorName = Self.text(bytes, place + 4, length)
                case 7: self.sender = Self.text(bytes, place + 4, length)
                default: break
                }
                place += length + 5
            }
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>, _ place: Int, _ length: Int) -> String {
        String(decoding: bytes[(bytes.startIndex + place)..<(bytes.startIndex + place + length)], as: UTF8.self)
    }
}
