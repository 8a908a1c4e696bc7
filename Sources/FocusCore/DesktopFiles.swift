/// The desktop files that there are, and which of them a name means.
package struct DesktopFiles: Sendable {
    private var readings: [String: DesktopEntry.Reading] = [:]
    /// The entries by what windows may call themselves; those of the same name in the order in which they came.
    private var byClass: [String: [DesktopEntry]] = [:]
    private var byFoldedName: [String: [DesktopEntry]] = [:]
    private var byProgram: [String: [DesktopEntry]] = [:]
    /// What was read of each Flatpak.
    private var flatpaks: [String: (files: Int, bytes: Int)] = [:]
    /// Files for which there was no room.
    package private(set) var leftOut = 0

    /// Files that are kept, of all folders together.
    package static let most = 8_192
    /// Files that one name may mean: so many of the host, and so many of packages' sandboxes. A package may bring any number of them, and
    /// each window of that name is compared with all.
    package static let mostAlike = 256
    /// The same of one Flatpak, and the bytes of them that are read. It may bring as many as it likes, and they are the same few blocks on
    /// the disk; none of others' is to be left out for them, and nobody to wait.
    package static let mostOfFlatpak = (files: 64, bytes: 2 << 20)

    package init() {}

    package var count: Int { self.readings.count }

    /// Takes in a file, whatever folder it stands in.
    ///
    /// - Parameter bytes: What stands in it; `nil`: it cannot be read.
    package mutating func add(_ path: String, _ bytes: [UInt8]?) { self.add(path, ofFlatpak: false) { bytes } }

    /// Takes in a file. Of those with one id only that counts which comes first.
    ///
    /// - Parameters:
    ///   - path: Where it stands below the folder `applications`.
    ///   - isOfFlatpak: Whether it stands where Flatpak puts what its apps bring, named after each app.
    ///   - read: Reads what stands in it, if there is room for it; `nil`: it cannot be read.
    package mutating func add(_ path: String, ofFlatpak isOfFlatpak: Bool, read: () -> [UInt8]?) {
        guard let id = Self.id(ofPath: path), self.readings[id] == nil else { return }
        let flatpak = DesktopPlaces.flatpak(ofName: id)
        let taken = self.flatpaks[flatpak] ?? (0, 0)
        let hasRoom =
            !isOfFlatpak || taken.files < Self.mostOfFlatpak.files && taken.bytes < Self.mostOfFlatpak.bytes
        guard self.readings.count < Self.most, hasRoom else {
            self.leftOut += 1
            return
        }
        let bytes = read()
        if isOfFlatpak { self.flatpaks[flatpak] = (taken.files + 1, taken.bytes + (bytes?.count ?? 0)) }
        let reading = bytes.map { DesktopEntry.read(id, $0) } ?? .nothing
        self.readings[id] = reading
        guard case .entry(let entry) = reading else { return }
        if let name = entry.startupClass { Self.note(entry, as: name, in: &self.byClass) }
        for name in Set([entry.id, entry.startupClass].compactMap { $0.map(Self.folded) }) {
            Self.note(entry, as: name, in: &self.byFoldedName)
        }
        if let program = entry.program { Self.note(entry, as: Self.folded(program), in: &self.byProgram) }
    }

    private static func note(_ entry: DesktopEntry, as name: String, in entries: inout [String: [DesktopEntry]]) {
        let alike = entries[name]?.count { $0.isOfHost == entry.isOfHost } ?? 0
        if alike < self.mostAlike { entries[name, default: []].append(entry) }
    }

    /// The id of a file; `nil` when it is none of an app's.
    package static func id(ofPath path: String) -> String? {
        guard path.hasSuffix(Self.ending), path.utf8.count <= WindowClaims.longestName,
            path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        let id = path.dropLast(Self.ending.count).split(separator: "/").joined(separator: "-")
        return id.isEmpty ? nil : id
    }

    private static let ending = ".desktop"

    package subscript(_ id: String) -> DesktopEntry? {
        guard case .entry(let entry) = self.readings[id] else { return nil }
        return entry
    }

    // MARK: Finding

    /// What a window's names may mean.
    package enum Match: Equatable, Sendable {
        case none
        case one(DesktopEntry, by: NamedApp.Way)
        /// Any of several, in the order of their ids.
        case several([DesktopEntry])
    }

    /// What the names mean that a window says, the more telling first.
    ///
    /// The desktop file of exactly that name, or one that says exactly that of its windows; else one that differs only in
    /// capitals; else one whose program is called so, which is what toolkits call windows that were given no name. Files that
    /// menus do not show come after all others: they open what belongs to an app that has another. When a name may mean
    /// several, the others decide between them.
    package func match(_ names: [String], where isPossible: (DesktopEntry) -> Bool) -> Match {
        for isAside in [false, true] {
            for pass in Pass.allCases {
                let found = self.narrowed(names) { name in
                    let found = self.found(name, pass).filter { found in
                        isPossible(found.entry) && found.entry.isAside == isAside
                    }
                    return pass == .program ? Self.fit(found, name) : found
                }
                if found.count == 1 { return .one(found[0].entry, by: found[0].way) }
                if !found.isEmpty { return .several(found.map(\.entry).sorted { $0.id < $1.id }) }
            }
        }
        return .none
    }

    /// How names are compared, the surest way first.
    private enum Pass: CaseIterable {
        case exact
        case folded
        case program
    }

    private typealias Found = (entry: DesktopEntry, way: NamedApp.Way)

    private func found(_ name: String, _ pass: Pass) -> [Found] {
        switch pass {
        case .exact:
            if let entry = self[name] { return [(entry, .desktopFile)] }
            return (self.byClass[name] ?? []).map { ($0, .windowClass) }
        case .folded:
            let name = Self.folded(name)
            return (self.byFoldedName[name] ?? []).map {
                ($0, Self.folded($0.id) == name ? .desktopFile : .windowClass)
            }
        case .program: return (self.byProgram[Self.folded(name)] ?? []).map { ($0, .desktopFile) }
        }
    }

    /// Those of one program that its windows are of: that whose id ends in the program's name is the program, and
    /// others are parts of it; else what the bus starts by its id has windows of that id, even where they say another.
    private static func fit(_ found: [Found], _ name: String) -> [Found] {
        let named = found.filter {
            self.folded(String($0.entry.id.split(separator: ".").last ?? "")) == self.folded(name)
        }
        if !named.isEmpty { return named }
        let activatable = found.filter(\.entry.isActivatable)
        return activatable.isEmpty ? found : activatable
    }

    /// What the names have in common of what each of them may mean.
    private func narrowed(_ names: [String], _ find: (String) -> [Found]) -> [Found] {
        var left: [Found] = []
        for name in names where left.count != 1 {
            let found = find(name)
            let ids = Set(found.map(\.entry.id))
            let both = left.filter { ids.contains($0.entry.id) }
            if left.isEmpty { left = found } else if !both.isEmpty { left = both }
        }
        return left
    }

    /// A name as it is compared without regard to capitals. Blanks count as dashes, which files' names have for them.
    static func folded(_ name: String) -> String {
        let bytes = name.utf8.map { byte in
            (0x41...0x5A).contains(byte) ? byte | 0x20 : byte == 0x20 ? UInt8(ascii: "-") : byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
