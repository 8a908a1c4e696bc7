import DBus
import Foundation
import Testing

@testable import DaemonSupport

@Suite struct LogEventTests {
    /// `-- id`, fields of the entry, an empty line, a text in which `@NAME@` stands for a field of the message.
    @Test func everyIdIsExplainedAndEveryExplanationIsOfAnId() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let catalogue = try String(contentsOf: root.appending(path: "systemd/jostle.catalog"), encoding: .utf8)
        let entries = ("\n" + catalogue).components(separatedBy: "\n-- ").dropFirst()
        let ids = entries.map { String($0.prefix { $0 != "\n" }) }
        #expect(ids.sorted() == LogEvent.allCases.map(\.rawValue).sorted())
        for entry in entries {
            #expect(entry.contains("\nSubject: "), "\(entry)")
            #expect(entry.contains("\n\n"), "\(entry)")
            for name in entry.matches(of: /@([A-Z_]+)@/) {
                #expect(LogField(rawValue: String(name.output.1)) != nil, "\(name.output.0)")
            }
        }
    }

    /// Who is told of another daemon where there is none looks for it in vain, and not at the rules of the bus.
    @Test func onlyANameThatIsTakenIsAnothers() {
        #expect(LogEvent(refusal: .failed("the name is taken")) == .alreadyRunning)
        for error in [BusError.accessDenied("not by these rules"), .limitsExceeded("too many"), .noReply("too late")] {
            #expect(LogEvent(refusal: error) == nil)
        }
    }
}
