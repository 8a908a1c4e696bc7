/// How a sensor is built into its device: three rows that turn its axes into the device's.
///
/// Written as rows of numbers, `;` between rows and `,` between numbers: `0, 1, 0; -1, 0, 0; 0, 0, 1`.
package struct MountMatrix: Hashable, Sendable {
    /// Nine numbers, row by row.
    package let rows: [Double]

    package static let identity = MountMatrix(rows: [1, 0, 0, 0, 1, 0, 0, 0, 1])

    private init(rows: [Double]) { self.rows = rows }

    /// Reads a matrix; `nil` when the text is none, or when it would flatten space: nobody mounts a sensor like that.
    package init?(_ text: String) {
        let rows = text.split(separator: ";", omittingEmptySubsequences: false)
        guard rows.count == 3 else { return nil }
        var numbers: [Double] = []
        for row in rows {
            let cells = row.split(separator: ",", omittingEmptySubsequences: false)
            guard cells.count == 3 else { return nil }
            for cell in cells {
                guard let number = AttributeText.number(cell), number.magnitude <= 1_000 else { return nil }
                numbers.append(number)
            }
        }
        self.rows = numbers
        guard self.determinant.magnitude > 1e-6 else { return nil }
    }

    private var determinant: Double {
        let m = self.rows
        let first = m[0] * (m[4] * m[8] - m[5] * m[7])
        let second = m[1] * (m[3] * m[8] - m[5] * m[6])
        let third = m[2] * (m[3] * m[7] - m[4] * m[6])
        return first - second + third
    }

    /// True when each axis of the device is one of the sensor's, turned round or not: then ranges stay as they are.
    package var keepsAxes: Bool {
        (0..<3).allSatisfy { row in self.rows[row * 3..<row * 3 + 3].filter { $0 != 0 }.map(\.magnitude) == [1] }
    }

    /// Turns three values in place.
    package func turn(_ values: inout [Double]) {
        precondition(values.count == 3)
        let (x, y, z) = (values[0], values[1], values[2])
        for row in 0..<3 {
            values[row] = self.rows[row * 3] * x + self.rows[row * 3 + 1] * y + self.rows[row * 3 + 2] * z
        }
    }
}
