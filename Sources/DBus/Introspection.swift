/// Writes introspection documents from interface tables.
///
/// Plain elements only: documentation stands in the installed XML files, because `doc:` elements break busctl.
enum Introspection {
    static func document(for object: ExportedObject?, children: [String]) -> String {
        var xml = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>

            """
        if let object {
            for (table, _) in object.interfaces { xml += self.interface(table) }
            xml += self.properties
        }
        xml += self.everywhere
        for child in children { xml += "  <node name=\"\(child)\"/>\n" }
        return xml + "</node>\n"
    }

    private static func interface(_ table: InterfaceTable) -> String {
        var xml = "  <interface name=\"\(table.name)\">\n"
        if let since = table.notes?.since { xml += self.annotation("org.gtk.GDBus.Since", since) }
        for method in table.methodList {
            let arguments =
                method.inputs.map { self.argument($0, "in") } + method.outputs.map { self.argument($0, "out") }
            let notes = table.notes?.ofMethod(method.inputs, method.outputs) ?? []
            xml += self.element("method", method.name, arguments + notes.map(self.annotation))
        }
        for signal in table.signalList {
            let arguments = signal.arguments.map { self.argument($0, nil) }
            let notes = table.notes?.ofSignal(signal.arguments) ?? []
            xml += self.element("signal", signal.name, arguments + notes.map(self.annotation))
        }
        for property in table.propertyList {
            let access = property.isWritable ? "readwrite" : "read"
            let change = ("org.freedesktop.DBus.Property.EmitsChangedSignal", property.notice.rawValue)
            let notes = [change] + (table.notes?.ofProperty(property.signature) ?? [])
            xml += "    <property name=\"\(property.name)\" type=\"\(property.signature)\" access=\"\(access)\">\n"
            xml += notes.map(self.annotation).joined() + "    </property>\n"
        }
        return xml + "  </interface>\n"
    }

    private static func element(_ kind: String, _ name: String, _ contents: [String]) -> String {
        guard !contents.isEmpty else { return "    <\(kind) name=\"\(name)\"/>\n" }
        return "    <\(kind) name=\"\(name)\">\n" + contents.joined() + "    </\(kind)>\n"
    }

    private static func argument(_ argument: Argument, _ direction: String?) -> String {
        let direction = direction.map { " direction=\"\($0)\"" } ?? ""
        return "      <arg name=\"\(argument.name)\" type=\"\(argument.signature)\"\(direction)/>\n"
    }

    private static func annotation(_ name: String, _ value: String) -> String {
        let value = value.replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return "      <annotation name=\"\(name)\" value=\"\(value)\"/>\n"
    }

    private static let properties = """
          <interface name="org.freedesktop.DBus.Properties">
            <method name="Get">
              <arg name="interface_name" type="s" direction="in"/>
              <arg name="property_name" type="s" direction="in"/>
              <arg name="value" type="v" direction="out"/>
            </method>
            <method name="Set">
              <arg name="interface_name" type="s" direction="in"/>
              <arg name="property_name" type="s" direction="in"/>
              <arg name="value" type="v" direction="in"/>
            </method>
            <method name="GetAll">
              <arg name="interface_name" type="s" direction="in"/>
              <arg name="properties" type="a{sv}" direction="out"/>
            </method>
            <signal name="PropertiesChanged">
              <arg name="interface_name" type="s"/>
              <arg name="changed_properties" type="a{sv}"/>
              <arg name="invalidated_properties" type="as"/>
            </signal>
          </interface>

        """

    /// What also the nodes on the way to an object have.
    private static let everywhere = """
          <interface name="org.freedesktop.DBus.Introspectable">
            <method name="Introspect">
              <arg name="xml_data" type="s" direction="out"/>
            </method>
          </interface>
          <interface name="org.freedesktop.DBus.Peer">
            <method name="Ping"/>
            <method name="GetMachineId">
              <arg name="machine_uuid" type="s" direction="out"/>
            </method>
          </interface>

        """
}
