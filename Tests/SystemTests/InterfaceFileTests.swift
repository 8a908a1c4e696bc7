import Motion
import TestSupport
import Testing

extension Surroundings {
    /// The interface files equal what the daemons show, and the check would notice if they did not.
    @Suite(.serialized) struct InterfaceFiles {
        private func check(
            _ bus: PrivateBus, _ files: String = Programs.source("dbus"), options: [String] = []
        ) throws -> Tool.Result {
            try bus.run(
                [Programs.source("dbus/check-xml"), "--bus", bus.address] + options + [Programs.directory, files])
        }

        @Test func equalWhatTheDaemonsShow() throws {
            try PrivateBus.with { bus in
                let result = try self.check(bus)
                #expect(result == Tool.Result(status: 0, stdout: "", stderr: ""))
            }
        }

        /// The page of objects is compared with those that there are.
        @Test(arguments: [
            "s|/org/jostle/Broker1/apps/.*|&.Watch|", "/LogControl1/d", "s/org.example.Torch/org.example.Lamp/",
        ])
        func aPageOfOtherObjectsIsNoticed(_ edit: String) throws {
            try PrivateBus.with { bus in
                let copy = "\(bus.directory)/objects.md"
                let edited = try bus.run([
                    "sh", "-ec", "sed \"$1\" \"$2\" > \"$3\"", "sh", edit, Programs.source("docs/dbus/objects.md"),
                    copy,
                ])
                #expect(edited.status == 0, "\(edited.stderr)")
                let result = try self.check(bus, options: ["--objects", copy])
                #expect(
                    result
                        == Tool.Result(
                            status: 1, stdout: "objects.md is not current: run dbus/check-xml --write\n", stderr: ""))
            }
        }

        @Test func areValid() throws {
            let files = ["Sensors1", "Sensors1.Sensor", "Broker1", "Broker1.App", "Receiver1"]
            let result = try Tool.run(
                ["xmllint", "--noout"] + files.map { Programs.source("dbus/org.jostle.\($0).xml") })
            #expect(result == Tool.Result(status: 0, stdout: "", stderr: ""))
        }

        @Test func areInstalledWherePkgConfigSays() throws {
            let result = try Tool.run([
                "sh", "-ec",
                """
                directory=$(mktemp -d)
                trap 'rm -rf "$directory"' EXIT
                make -s -C "$1" install-interfaces DESTDIR="$directory" PREFIX=/opt/jostle
                export PKG_CONFIG_PATH="$directory/opt/jostle/share/pkgconfig"
                interfaces=$(pkg-config --variable=interfaces_dir jostle)
                echo "$interfaces"
                pkg-config --modversion jostle
                for file in "$1"/dbus/*.xml; do cmp "$file" "$directory$interfaces/${file##*/}"; done
                ls "$directory$interfaces" | wc -l
                """, "sh", Programs.source(""),
            ])
            let lines = "/opt/jostle/share/dbus-1/interfaces\n\(Version.text)\n7\n"
            #expect(result == Tool.Result(status: 0, stdout: lines, stderr: ""))
        }

        @Test func areWhatTheReferenceWasMadeOf() throws {
            let result = try Tool.run([Programs.source("dbus/make-reference"), "--check"])
            #expect(result == Tool.Result(status: 0, stdout: "", stderr: ""))
        }

        /// What is done to a copy of the files, and the words with which the check must notice.
        static let differences: [(edit: String, complaint: String)] = [
            (
                "sed -i 's/<method name=\"Release\"/<method name=\"Free\"/' org.jostle.Sensors1.Sensor.xml",
                "has no method Free (options a{sv} in)"
            ),
            (
                "sed -i 's/<signal name=\"Event\"/<signal name=\"Happening\"/' org.jostle.Broker1.App.xml",
                "has it: signal Event (event (tttsda{sv}) out)"
            ),
            (
                "sed -i 's/type=\"(tatad)\"/type=\"(tatai)\"/' org.jostle.Sensors1.Sensor.xml",
                "has no signal Samples (samples (tatai) out)"
            ),
            (
                "sed -i '/name=\"app_id\"/s/in\"/out\"/' org.jostle.Broker1.xml",
                "has it: method Register (app_id s in, options a{sv} in, app o out, results a{sv} out)"
            ),
            (
                "sed -i 's/name=\"Sent\" type=\"t\" access=\"read\"/name=\"Sent\" type=\"t\" access=\"readwrite\"/' *.xml",
                "has no property Sent (t readwrite)"
            ),
            (
                "sed -i '0,/Signal\" value=\"true\"/s//Signal\" value=\"false\"/' org.jostle.Broker1.App.xml",
                "has it: property State: org.freedesktop.DBus.Property.EmitsChangedSignal = true"
            ),
            (
                "sed -i /UnixFD/d org.jostle.Sensors1.Sensor.xml",
                "has it: method OpenStream: org.gtk.GDBus.C.UnixFD = true"
            ),
            (
                "sed -i s/JostleEvent/JostleMotion/ org.jostle.Broker1.App.xml",
                "has no signal Event: org.qtproject.QtDBus.QtTypeName.Out0 = JostleMotion"
            ),
            (
                "sed -i '/GDBus.Since/s/0.1/0.2/' org.jostle.Broker1.xml",
                "has no interface: org.gtk.GDBus.Since = 0.2"
            ),
            (
                "sed -i 's/name=\"motion\" type=\"s\"/name=\"motion\" type=\"a{sv}\"/' org.jostle.Sensors1.Sensor.xml; "
                    + "sed -i '/<method name=\"Flush\"/,/<.method/s/a{sv}/a{ss}/' org.jostle.Sensors1.Sensor.xml",
                "method Flush takes no options a{sv}: it cannot grow"
            ),
            ("sed -i 's/      Inject:/      About:/' org.jostle.Sensors1.Sensor.xml", "Inject has no comment"),
            ("sed -i 's/@motion:/motion:/' org.jostle.Sensors1.Sensor.xml", "the comment has no '@motion:'"),
            ("rm org.jostle.Broker1.App.xml", "has org.jostle.Broker1.App, for which there is no file"),
            (
                "sed 's/Sensors1\\.Sensor/Sensors2/' org.jostle.Sensors1.Sensor.xml > org.jostle.Sensors2.xml",
                "org.jostle.Sensors2.xml: no object has this interface"
            ),
        ]

        @Test(arguments: differences.indices)
        func aDifferenceIsNoticed(_ index: Int) throws {
            let (edit, complaint) = Self.differences[index]
            try PrivateBus.with { bus in
                let copy = "\(bus.directory)/xml"
                let prepared = try bus.run([
                    "sh", "-ec", "mkdir \"$1\"; cp \"$2\"/*.xml \"$1\"; cd \"$1\"; \(edit)", "sh", copy,
                    Programs.source("dbus"),
                ])
                #expect(prepared.status == 0, "\(prepared.stderr)")
                let result = try self.check(bus, copy)
                #expect(result.status == 1)
                #expect(result.stdout.contains(complaint), "\(result.stdout)")
            }
        }
    }
}
