/// Where one user's files are, as the XDG Base Directory Specification has it.
package enum BaseDirectory {
    case configuration
    case state
    case data

    /// `nil`: there is no home, either. Variables are to be ignored when they hold no absolute path.
    package func path(_ environment: (String) -> String?) -> String? {
        let (variable, standard) =
            switch self {
            case .configuration: ("XDG_CONFIG_HOME", ".config")
            case .state: ("XDG_STATE_HOME", ".local/state")
            case .data: ("XDG_DATA_HOME", ".local/share")
            }
        func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        return absolute(variable) ?? absolute("HOME").map { "\($0)/\(standard)" }
    }
}
