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
        for method in table.methodList {
            let arguments =
                method.inputs.map { self.argument($0, "in") } + method.outputs.map { self.argument($0, "out") }
            xml += self.element("method", method.name, arguments)
        }
        for signal in table.signalList {
            xml += self.element("signal", signal.name, signal.arguments.map { self.argument($0, nil) })
        }
        for property in table.propertyList {
            let access = property.isWritable ? "readwrite" : "read"
            xml += """
                    <property name="\(property.name)" type="\(property.signature)" access="\(access)">
                      <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" \
                value="\(property.notice.rawValue)"/>
                    </property>

                """
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
