/// How much policy and app files may hold. A file beyond a limit is refused with the limit's name.
package enum PolicyLimits {
    /// Bytes of a policy file (`policy-file-bytes`).
    package static let fileBytes = 16 * 1_024 * 1_024
    /// Bytes of all policy files together (`policy-bytes`).
    package static let bytes = 32 * 1_024 * 1_024
    /// Bytes of an app file (`app-file-bytes`).
    static let appFileBytes = 256 * 1_024
    /// Files in the directories of policy, and in those of apps (`policy-files`, `app-files`).
    package static let files = 1_024
    static let appFiles = 16_384
    /// App files that one Flatpak may bring (`flatpak-app-files`): each is an app of its user's, who has a share of those that there may be.
    static let flatpakFiles = 16
    /// Sections that differ (`policy-sections`).
    static let sections = 131_072
    /// Groups, and classes of sessions (`policy-groups`, `policy-classes`).
    static let groups = 1_024
    static let classes = 32
    /// Names in one list, and of these such with a `*`, each of which is compared by itself (`policy-names`, `policy-globs`).
    static let names = 65_536
    static let globs = 64
    /// Words in one list of anything else (`policy-words`).
    static let words = 128
    /// Names and words in all lists together (`policy-words-in-all`).
    static let wordsInAll = 1_048_576
    /// Findings that are told of (`policy-findings`).
    static let findings = 256

    /// What `Limits` shows of these.
    package static let table: [String: UInt64] = [
        "policy-file-bytes": UInt64(fileBytes), "policy-bytes": UInt64(bytes), "app-file-bytes": UInt64(appFileBytes),
        "policy-files": UInt64(files), "app-files": UInt64(appFiles), "flatpak-app-files": UInt64(flatpakFiles),
        "policy-sections": UInt64(sections),
        "policy-groups": UInt64(groups), "policy-classes": UInt64(classes), "policy-names": UInt64(names),
        "policy-globs": UInt64(globs), "policy-words": UInt64(words), "policy-words-in-all": UInt64(wordsInAll),
        "policy-findings": UInt64(findings),
    ]

    /// What is said of something that is beyond a limit.
    static func excess(_ what: String, _ name: String, _ limit: Int) -> String { "\(what): \(name) is \(limit)" }
}
