/// The configuration file of a dbus-daemon that knows of nothing outside `directory`.
func configuration(_ kind: PrivateBus.Kind, directory: String, additions: String) -> String {
    let rules =
        switch kind {
        case .session:
            """
              <type>session</type>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
              </policy>
            """ + sessionLimits
        case .system(let policies):
            systemRules + policies.map { "\n  <include>\(escaped($0))</include>" }.joined()
        }
    return """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <auth>EXTERNAL</auth>
          <listen>unix:path=\(directory)/bus</listen>
          <servicedir>\(directory)/services</servicedir>
        \(rules)
        \(additions)
        </busconfig>

        """
}

/// A session bus sets limits that nobody meets, and so does the one that users have.
private let sessionLimits = [
    ("max_incoming_bytes", 1_000_000_000), ("max_outgoing_bytes", 1_000_000_000), ("max_message_size", 1_000_000_000),
    ("max_incoming_unix_fds", 250_000_000), ("max_outgoing_unix_fds", 250_000_000),
    ("max_completed_connections", 100_000), ("max_incomplete_connections", 10_000),
    ("max_connections_per_user", 100_000), ("max_pending_service_starts", 10_000),
    ("max_names_per_connection", 50_000), ("max_match_rules_per_connection", 50_000),
    ("max_replies_per_connection", 50_000),
].map { "\n  <limit name=\"\($0.0)\">\($0.1)</limit>" }.joined()

/// What a system bus allows before any service adds to it: own nothing, call nothing but the bus; signals and replies
/// pass. The limits are dbus-daemon's own.
private let systemRules = """
      <type>system</type>
      <policy context="default">
        <allow user="*"/>
        <deny own="*"/>
        <deny send_type="method_call"/>
        <allow send_type="signal"/>
        <allow send_requested_reply="true" send_type="method_return"/>
        <allow send_requested_reply="true" send_type="error"/>
        <allow receive_type="method_call"/>
        <allow receive_type="method_return"/>
        <allow receive_type="error"/>
        <allow receive_type="signal"/>
        <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
        <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Introspectable"/>
        <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Properties"/>
        <deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"
              send_member="UpdateActivationEnvironment"/>
      </policy>
      <policy user="root">
        <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Monitoring"/>
      </policy>
    """

private func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
        switch character {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        default: result.append(character)
        }
    }
}
