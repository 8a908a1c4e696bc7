/// What makers of code need to know of an interface and cannot see in its signatures: the annotations of gdbus-codegen and qdbusxml2cpp.
package struct GeneratorNotes: Sendable {
    typealias Note = (name: String, value: String)

    /// The version that the interface came with.
    let since: String
    /// By signature, the C++ type of what QtDBus does not know by itself; an array of one of them is a `QList`.
    let qtTypes: [String: String]

    package init(since: String, qtTypes: [String: String]) {
        self.since = since
        self.qtTypes = qtTypes
    }

    func ofMethod(_ inputs: [Argument], _ outputs: [Argument]) -> [Note] {
        // Without this the code of gdbus-codegen drops the descriptor, and with it what the descriptor stands for.
        let descriptors: [Note] =
            (inputs + outputs).contains { $0.signature.contains("h") } ? [("org.gtk.GDBus.C.UnixFD", "true")] : []
        return descriptors + self.types(of: inputs, "In") + self.types(of: outputs, "Out")
    }

    func ofSignal(_ arguments: [Argument]) -> [Note] { self.types(of: arguments, "Out") }

    func ofProperty(_ signature: String) -> [Note] {
        self.qtType(of: signature).map { [(Self.typeName, $0)] } ?? []
    }

    private static let typeName = "org.qtproject.QtDBus.QtTypeName"

    private func types(of arguments: [Argument], _ direction: String) -> [Note] {
        arguments.enumerated().compactMap { index, argument in
            self.qtType(of: argument.signature).map { ("\(Self.typeName).\(direction)\(index)", $0) }
        }
    }

    private func qtType(of signature: String) -> String? {
        if let type = self.qtTypes[signature] { return type }
        guard signature.hasPrefix("a"), let element = self.qtTypes[String(signature.dropFirst())] else { return nil }
        return "QList<\(element)>"
    }
}
