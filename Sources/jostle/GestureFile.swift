import DaemonSupport
import Detection
import JostleClient
import Loop
import Motion

/// A file of a taught gesture, as `jostle teach` writes it and apps give it to the broker.
enum GestureFile {
    /// Reads and checks a file. What is no gesture is told with its place.
    static func read(_ path: String) throws(UsageProblem) -> TaughtGesture {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: TaughtGesture.Limits.bytes + 1)
        do throws(SystemError) {
            let file = try InputFile(path)
            while bytes.count <= TaughtGesture.Limits.bytes {
                let count = try file.read(into: &buffer)
                guard count > 0 else { break }
                bytes += buffer[..<count]
            }
        } catch {
            throw UsageProblem("\(path): \(error)")
        }
        do throws(GestureText.Problem) {
            return try GestureText.read(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw UsageProblem("\(path):\(error)")
        }
    }

    static func write(_ gesture: TaughtGesture, to path: String) throws(CommandFailure) {
        try OutputFile.write(Array(GestureText.write(gesture).utf8), to: path)
    }

    /// The detector that looks for it, under the gesture's own name.
    static func detector(_ path: String) throws(UsageProblem) -> Detector {
        let gesture = try self.read(path)
        return Detector(
            gesture.name, preset: "gesture",
            options: [CompiledDetector.gestureKey: .text(GestureText.write(gesture))])
    }
}

extension TaughtGesture.Example {
    /// The three axes as rows of strokes, each from its least to its most, with both in g.
    func picture(_ terminal: Terminal) -> [String] {
        let strokes = terminal.isUnicode ? Array("▁▂▃▄▅▆▇█") : Array("_.-~=+*#")
        let points = (0..<TaughtGesture.Limits.points).map { self.point($0) }
        // One scale for all axes, so that the strong one is seen; its own middle for each.
        let spans = (0..<3).map { axis in
            let values = points.map { $0[axis] }
            return (low: values.min() ?? 0, high: values.max() ?? 0)
        }
        let widest = max(spans.map { $0.high - $0.low }.max() ?? 0, 0.05)
        return (0..<3).map { axis in
            let middle = (spans[axis].low + spans[axis].high) / 2
            let row = points.map { point in
                let part = (point[axis] - middle) / widest + 0.5
                return strokes[max(0, min(strokes.count - 1, Int(part * Double(strokes.count))))]
            }
            return
                "  \(["x", "y", "z"][axis]) \(String(row))  \(rounded(spans[axis].low)) to \(rounded(spans[axis].high)) g"
        }
    }
}
