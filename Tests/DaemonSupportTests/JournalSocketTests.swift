import Glibc
import Loop
import Testing

@testable import DaemonSupport

@Suite(.timeLimit(.minutes(1))) struct JournalSocketTests {
    /// What the journal's protocol says that a datagram holds; `nil` when it is none.
    private static func fields(of datagram: [UInt8]) -> [String]? {
        var rest = datagram[...]
        var fields: [String] = []
        while let end = rest.firstIndex(of: 10) {
            let name = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            guard rest.count >= 8 else { return nil }
            let length = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(8)
            guard rest.count > length, rest[rest.startIndex + length] == 10 else { return nil }
            fields.append("\(name)=\(String(decoding: rest.prefix(length), as: UTF8.self))")
            rest = rest.dropFirst(length + 1)
        }
        return rest.isEmpty ? fields : nil
    }

    /// As the service manager tells what it led a descriptor to.
    private static func stream(of descriptor: Int32) -> String {
        var status = stat()
        fstat(descriptor, &status)
        return "\(status.st_dev):\(status.st_ino)"
    }

    private static func log(
        _ pipe: borrowing Pipe, _ address: String, stream: String? = nil, level: LogLevel = .info
    ) -> Log {
        let stream = stream ?? Self.stream(of: pipe.writer.raw)
        return Log(
            program: "jostle-sensord", level: level, style: .automatic, to: pipe.writer.raw,
            journal: JournalSocket(
                behind: pipe.writer.raw, at: address, environment: { $0 == "JOURNAL_STREAM" ? stream : nil }))
    }

    @Test func journalIsToldWhatAndWhere() throws {
        let listener = try Listener(isAbstract: false)
        let pipe = try Pipe()
        let log = Self.log(pipe, listener.address)
        log.error("bad\nPRIORITY=0", as: .sensorBroken, about: [.sensor: "a\nMESSAGE=b", .reason: "dead"], line: 7)
        #expect(
            listener.receiveBytes().flatMap(Self.fields) == [
                #"MESSAGE=bad\nPRIORITY=0"#, "PRIORITY=3", "SYSLOG_IDENTIFIER=jostle-sensord",
                "MESSAGE_ID=595819f13b4e435591a6bd096c0313ad", "JOSTLE_REASON=dead", #"JOSTLE_SENSOR=a\nMESSAGE=b"#,
                "CODE_FILE=DaemonSupportTests/JournalSocketTests.swift", "CODE_LINE=7",
            ])
        log.info("fine", file: "F", line: 8)
        #expect(
            listener.receiveBytes().flatMap(Self.fields) == [
                "MESSAGE=fine", "PRIORITY=6", "SYSLOG_IDENTIFIER=jostle-sensord", "CODE_FILE=F", "CODE_LINE=8",
            ])
        #expect(drain(pipe.reader.raw) == "")
    }

    @Test(arguments: ["1:2", "", "x", "0:0:0"])
    func standardErrorThatLeadsElsewhereIsObeyed(_ stream: String) throws {
        let listener = try Listener(isAbstract: false)
        let pipe = try Pipe()
        Self.log(pipe, listener.address, stream: stream).error("bad", as: .sensorBroken)
        #expect(listener.receive() == nil)
        #expect(drain(pipe.reader.raw) == "<3>bad\n")
    }

    @Test func messageThatAJournalDoesNotTakeIsALine() throws {
        let pipe = try Pipe()
        Self.log(pipe, "@jostle-nobody-\(getpid())").warning("bad", as: .diskFailed)
        #expect(drain(pipe.reader.raw) == "<4>bad\n")
    }

    @Test func journalThatIsBehindIsNotWaitedFor() throws {
        let listener = try Listener(isAbstract: true)
        let pipe = try Pipe()
        let log = Self.log(pipe, listener.address, level: .debug)
        var text = ""
        var taken = 0
        while text.isEmpty {
            log.debug("x")
            text = drain(pipe.reader.raw)
            taken += 1
        }
        #expect(text == "<7>x\n")
        #expect(taken > 1)
    }

    @Test func valuesAreBounded() throws {
        let long = String(repeating: "é\n", count: 100_000)
        let datagram = JournalSocket.datagram(of: [.init(name: "MESSAGE", value: long), .init(name: "A", value: long)])
        #expect(datagram.count < 9_000)
        #expect(Self.fields(of: datagram)?.count == 2)
    }
}
