package import DBus

extension GeneratorNotes {
    /// Of all our interfaces. The structures are declared in docs/examples/qt/jostle-types.h.
    package static let jostle = GeneratorNotes(
        since: "0.1",
        qtTypes: [
            "a{sv}": "QVariantMap",
            "a{st}": "QMap<QString,qulonglong>",
            "ad": "QList<double>",
            "(tttsda{sv})": "JostleEvent",
            "(tta{sv})": "JostleGap",
            "(ta{sv})": "JostleMark",
            "(tatad)": "JostleSamples",
            "(sa{sv})": "JostleNamedOptions",
            "(oa{sv})": "JostleObject",
            "(ssssa{sv})": "JostleTask",
            "(sssa{sv})": "JostleOwnTask",
            "(sdttta{sv})": "JostleClaim",
        ])
}
