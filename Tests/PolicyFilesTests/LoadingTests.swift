import Arbitration
import Glibc
import Motion
import Testing

@testable import PolicyFiles

/// Files that change while they are read.
@Suite struct LoadingTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/jostle-loading-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            for name in ["10-a.conf", "20-b.conf", "org.example.App.conf", "org.example.Other.conf"] {
                unlink("\(directory)/\(name)")
            }
            rmdir(directory)
        }
        try body(directory)
    }

    private func write(_ text: String, _ path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }

    private func source(_ directory: String) -> PolicySource { PolicySource([directory]) { _ in nil } }

    private func run(_ loading: PolicyLoading) {
        while true {
            switch loading.step() {
            case .more: continue
            case .wait(let pause): usleep(UInt32(pause))
            case .done: return
            }
        }
    }

    /// Two files that are rewritten one after the other are never read as a mixture that nobody wrote.
    @Test func aFileThatChangesMeanwhileIsReadAgain() throws {
        try self.withDirectory { directory in
            let (first, second) = ("\(directory)/10-a.conf", "\(directory)/20-b.conf")
            try self.write("[Rule old]\nThen=allow\n", first)
            try self.write("[Rule old-too]\nThen=allow\n", second)
            let loading = self.source(directory).load()
            var isChanged = false
            while loading.isReading {
                let progress = loading.step()
                // The first has been read, the second has not.
                if !isChanged, loading.found.files.count == 1 {
                    try self.write("[Rule renamed]\nThen=allow\n", first)
                    try self.write("[Rule renamed-too]\nThen=allow\n", second)
                    isChanged = true
                }
                if case .wait(let pause) = progress { usleep(UInt32(pause)) }
            }
            #expect(isChanged)
            self.run(loading)
            #expect(loading.finish().reading.policy?.rules.map(\.name) == ["renamed", "renamed-too"])
        }
    }

    /// Whoever asks again and again need not read again, as long as nothing has happened to the files.
    @Test func filesThatAreAsTheyWereAreNotReadAgain() throws {
        try self.withDirectory { directory in
            let (first, second) = ("\(directory)/10-a.conf", "\(directory)/20-b.conf")
            func changed(_ what: String, _ body: () throws -> Void) throws {
                let loading = self.source(directory).load()
                self.run(loading)
                let state = loading.state
                #expect(state.isUnchanged, "before: \(what)")
                try body()
                #expect(!state.isUnchanged, "\(what)")
            }
            try changed("a new file") { try self.write("[Rule a]\nThen=allow\n", first) }
            try changed("another text") { try self.write("[Rule b]\nThen=allow\n", first) }
            try changed("an error") { try self.write("[Rule b]\nThen=maybe\n", first) }
            try changed("what cannot be read") { symlink(directory, second) }
            try changed("what is gone") { unlink(second) }
            try changed("other rights") { chmod(first, 0o600) }
        }
    }

    /// What was written a moment ago may be half of what is to be written.
    @Test func aFileThatWasJustWrittenIsWaitedFor() throws {
        try self.withDirectory { directory in
            let file = "\(directory)/10-a.conf"
            try self.write("", file)
            let loading = self.source(directory).load()
            var waits = 0
            while true {
                let progress = loading.step()
                if progress == .done { break }
                guard case .wait(let pause) = progress else { continue }
                waits += 1
                if waits == 1 { try self.write("[Policy]\nDefault=allow\n", file) }
                usleep(UInt32(pause))
            }
            #expect(waits > 0)
            #expect(loading.finish().reading.policy?.otherwise == .allow)
        }
    }

    @Test func aFileThatNeverHoldsStillIsNamed() throws {
        try self.withDirectory { directory in
            let file = "\(directory)/10-a.conf"
            try self.write("[Policy]\nDefault=allow\n", file)
            let loading = self.source(directory).load()
            var number = 0
            while true {
                let progress = loading.step()
                if progress == .done { break }
                guard case .wait = progress else { continue }
                number += 1
                // In place, and each time as long as before.
                try self.write("[Policy]\nDefault=allow\n# \(number % 10)\n", file)
            }
            let (reading, _) = loading.finish()
            #expect(reading.inForce == nil)
            let said = try #require(reading.errors.first)
            #expect(said.place.file == directory || said.place.file == file)
            #expect(said.message.contains("does not hold still"), "\(said)")
        }
    }

    /// A user's file that never holds still keeps nothing else from being in force.
    @Test func aUsersFileThatNeverHoldsStillIsLeftOut() throws {
        try self.withDirectory { directory in
            let own = "\(directory)/jostle/policy.d"
            try #require(mkdir("\(directory)/jostle", 0o755) == 0 && mkdir(own, 0o755) == 0)
            defer {
                unlink("\(own)/10-a.conf")
                rmdir(own)
                rmdir("\(directory)/jostle")
            }
            let loading = PolicySource([], system: []) { $0 == "XDG_CONFIG_HOME" ? directory : nil }.load()
            var number = 0
            var progress = PolicyLoading.Progress.more
            while progress != .done {
                number += 1
                try self.write("[Policy]\nDefault=deny\n# \(number % 10)\n", "\(own)/10-a.conf")
                progress = loading.step()
            }
            let (reading, files) = loading.finish()
            #expect(reading.inForce != nil && files.isEmpty)
            #expect(reading.findings.map(\.check) == [.leftOut])
            #expect(reading.findings.first?.message.contains("does not hold still") == true)
        }
    }

    @Test func anAppFileThatNeverHoldsStillStopsNoOther() throws {
        try self.withDirectory { directory in
            try self.write("[App]\nUsage=one\n", "\(directory)/org.example.App.conf")
            try self.write("[App]\nUsage=two\n", "\(directory)/org.example.Other.conf")
            let loading = AppSource([directory]).loadAll()
            while true {
                let progress = loading.step()
                if progress == .done { break }
                guard case .wait(let pause) = progress else { continue }
                usleep(UInt32(pause))
                try self.write("[App]\nUsage=one more\n", "\(directory)/org.example.App.conf")
            }
            let reading = loading.finish()
            #expect(reading.files.map(\.id.name) == ["org.example.Other"])
            #expect(reading.restless.map(\.name) == ["org.example.App"])
            #expect(reading.findings.map(\.check) == [.unreadable])
        }
    }

    /// Whoever owns a file, or a directory, says when it was written: also in a year that no count of ns reaches.
    @Test(arguments: [Int.min, -1, 10_413_792_000, Int.max])
    func aFileOfAnyTimeIsRead(seconds: Int) throws {
        try self.withDirectory { directory in
            let time = timespec(tv_sec: seconds, tv_nsec: 999_999_999)
            func make(_ text: String, _ path: String) throws {
                try self.write(text, path)
                for path in [path, directory] { try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0) }
            }
            let policy = "\(directory)/10-a.conf"
            try make("[Policy]\nDefault=allow\n", policy)
            #expect(self.source(directory).read().reading.policy?.otherwise == .allow)
            unlink(policy)
            try make("[App]\nUsage=one\n", "\(directory)/org.example.App.conf")
            #expect(AppSource([directory]).readAll().files.map(\.id.name) == ["org.example.App"])
        }
    }

    @Test func aDirectoryThatWasAskedForHasToBeThere() throws {
        let reading = self.source("/tmp/jostle-no-such-directory").read().reading
        #expect(reading.inForce == nil)
        #expect(reading.errors.map(\.message) == ["the directory cannot be read: No such file or directory"])
        #expect(AppSource(["/tmp/jostle-no-such-directory"]).readAll().findings.map(\.check) == [.unreadable])
        // Nobody asked for those of the system.
        #expect(PolicySource([]) { _ in nil }.read().reading.inForce != nil)
    }

    /// Of a directory that cannot be listed it is not known what stands in it; one that is not there is empty.
    @Test func aDirectoryThatCannotBeListedIsNoEmptyOne() throws {
        try self.withDirectory { directory in
            let file = "\(directory)/org.example.App.conf"
            try self.write("[App]\nUsage=one\n", file)
            let reading = AppSource([directory, "\(directory)/nothing", file]).readAll()
            #expect(reading.files.map(\.id.name) == ["org.example.App"])
            #expect(reading.unlisted == [file])
            let messages = reading.findings.map(\.message)
            #expect(messages.contains("the directory cannot be read: Not a directory"), "\(messages)")
        }
    }

    @Test func whatIsTooLargeIsRefusedWithTheLimit() throws {
        try self.withDirectory { directory in
            let file = "\(directory)/10-a.conf"
            try self.write("", file)
            try #require(truncate(file, 1 << 40) == 0)
            let message = self.source(directory).read().reading.errors.first?.message ?? ""
            #expect(message == "the file is too long: policy-file-bytes is 16777216")
            unlink(file)
            try #require(mkfifo(file, 0o644) == 0)
            #expect(self.source(directory).read().reading.errors.map(\.message) == ["it is not a file"])
            unlink(file)
            try #require(symlink("/dev/zero", file) == 0)
            #expect(self.source(directory).read().reading.errors.map(\.message) == ["it is not a file"])
        }
    }
}
