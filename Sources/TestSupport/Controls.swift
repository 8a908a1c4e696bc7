extension String {
    /// Whatever a terminal or an editor would obey and not show, but for the end of a line.
    package var controls: [Unicode.Scalar] {
        self.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A: false
            case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
    }
}
