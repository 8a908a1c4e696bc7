/// What Flatpak writes of a sandbox into `.flatpak-info`, a key file as GLib writes them.
package enum SandboxFile {
    /// The app that runs in it: `name` in `[Application]`.
    ///
    /// `nil`: it names none, or is none of Flatpak's, which says it once, and no longer than a bus name can be.
    package static func app(_ file: [UInt8]) -> String? {
        var isInside = false
        var names: [String] = []
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let text = self.trimmed(line)
            if text.first == UInt8(ascii: "[") {
                isInside = text.elementsEqual("[Application]".utf8)
            } else if isInside, let sign = text.firstIndex(of: UInt8(ascii: "=")),
                self.trimmed(text[..<sign]).elementsEqual("name".utf8)
            {
                names.append(String(decoding: self.trimmed(text[(sign + 1)...]), as: UTF8.self))
            }
        }
        return names.count == 1 && names[0].utf8.count <= self.longestName ? names[0] : nil
    }

    /// Bytes of a name. Others are compared with it, which takes the square of a row of combining marks.
    private static let longestName = 255

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        let front = bytes.drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return [] }
        return front[...last]
    }
}
