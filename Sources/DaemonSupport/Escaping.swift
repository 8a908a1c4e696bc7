import Motion

/// Appends `text` with control characters written out as `\n` or `\x1b`, cut off with `…` at `limit` bytes.
///
/// Also written out: what turns the direction of text, so that a line reads as it is.
func appendEscaped(_ text: String, to line: inout [UInt8], limit: Int) {
    let ellipsis = Array("…".utf8)
    for scalar in text.unicodeScalars {
        let piece = escaped(scalar)
        guard line.count + piece.utf8.count + ellipsis.count <= limit else {
            line += ellipsis
            return
        }
        line += piece.utf8
    }
}

/// `text` as one line that reads as it is, whoever wrote it: what `appendEscaped` appends, however long.
package func escapedLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    return text.unicodeScalars.reduce(into: "") { $0 += escaped($1) }
}

private func escaped(_ scalar: Unicode.Scalar) -> String {
    guard isControl(scalar) else { return String(scalar) }
    switch scalar.value {
    case 0x0A: return #"\n"#
    case 0x0D: return #"\r"#
    case 0x09: return #"\t"#
    case 0..<0x100:
        let digits = String(scalar.value, radix: 16)
        return #"\x"# + (digits.utf8.count == 1 ? "0" : "") + digits
    default: return #"\u{"# + String(scalar.value, radix: 16) + "}"
    }
}
