import TestSupport
import Testing

extension EndToEnd {
    /// Whatever a peer sends, it gets an error that helps and the daemons go on.
    @Suite(.serialized) struct BadInput {
        /// One call that must fail, and what the error must say.
        struct Case: Sendable, CustomTestStringConvertible {
            let call: String
            let error: String
            let words: [String]

            var testDescription: String { self.call.count < 120 ? self.call : "\(self.call.prefix(110))…" }
        }

        private static func bad(_ call: String, _ error: String, _ words: String...) -> Case {
            Case(
                call: call, error: error.contains(".") ? error : "org.freedesktop.DBus.Error.\(error)", words: words)
        }

        private static let invalid = "org.jostle.Error.InvalidConfiguration"
        private static let missing = "org.jostle.Error.NotFound"

        /// Sends all cases from one connection that is the app `org.example.App`. After each, both daemons must answer.
        private func run(_ cases: [Case], _ stage: Stage) throws {
            let probes = [
                "probe call org.jostle.Sensors1 /org/jostle/Sensors1 org.jostle.Sensors1 ListSensors a{sv} [{}]",
                "probe call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 ListApps a{sv} [{}]",
            ]
            let register =
                "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv} ['org.example.App',{}]"
            let lines = try stage.script(
                ["app own org.example.App", register] + cases.flatMap { [$0.call] + probes })
            #expect(lines.first?.hasPrefix("app ok") == true)
            let answers = lines.dropFirst()
            try #require(answers.count == 3 * cases.count)
            for (index, bad) in cases.enumerated() {
                let at = answers.startIndex + 3 * index
                let answer = answers[at]
                let peer = bad.call.prefix { $0 != " " }
                #expect(
                    answer.hasPrefix("\(peer) error \(bad.error): "), "\(bad.call.prefix(200)): \(answer.prefix(400))")
                for word in bad.words {
                    #expect(answer.contains(word), "\(bad.call.prefix(200)): \(answer.prefix(400))")
                }
                // An error that repeats a megabyte back helps nobody.
                #expect(answer.utf8.count < 1_000, "\(answer.utf8.count) bytes")
                #expect(answers[at + 1].hasPrefix("probe ok "), "after \(bad.call.prefix(200)): \(answers[at + 1])")
                #expect(answers[at + 2].hasPrefix("probe ok "), "after \(bad.call.prefix(200)): \(answers[at + 2])")
            }
        }

        @Test func ofTasks() throws {
            let root = "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1"
            let path = Stage.Object.app("org.example.App")
            let app = "app call org.jostle.Broker1 \(path) org.jostle.Broker1.App"
            let other = "other call org.jostle.Broker1 \(path) org.jostle.Broker1.App"
            let submit = "\(app) SubmitTask ssa{sv}"
            let unnamed = "the app file does not name the task"
            try self.run(
                [
                    Self.bad("\(app) SubmitTask", "InvalidArgs", "SubmitTask takes 'ssa{sv}', got ''"),
                    Self.bad("\(app) SubmitTask ss ['a','refresh']", "InvalidArgs", "got 'ss'"),
                    Self.bad("\(submit) ['a','refresh',{}]", "AccessDenied", unnamed, "'a'"),
                    Self.bad("\(submit) ['','refresh',{}]", "AccessDenied", unnamed),
                    Self.bad("\(submit) ['x'*2**20,'refresh',{}]", "AccessDenied", unnamed),
                    Self.bad("\(submit) ['a','refrehs',{}]", Self.invalid, "did you mean 'refresh'?"),
                    Self.bad("\(submit) ['a','',{}]", Self.invalid, "refresh, processing"),
                    Self.bad("\(submit) ['a','x'*2**20,{}]", Self.invalid),
                    Self.bad(
                        "\(submit) ['a','refresh',{'earliest-begn':V('t',1)}]", Self.invalid,
                        "did you mean 'earliest-begin'?"),
                    Self.bad("\(submit) ['a','refresh',{'earliest-begin':V('x',-1)}]", Self.invalid, "'t'"),
                    Self.bad(
                        "\(submit) ['a','refresh',{'earliest-begin':V('t',2**64-1)}]", Self.invalid, "is too long"),
                    Self.bad(
                        "\(submit) ['a','refresh',{'earliest-begin':V('t',2),'latest-begin':V('t',1)}]", Self.invalid,
                        "comes before the earliest"),
                    Self.bad("\(submit) ['a','refresh',{'idle':V('s','yes')}]", Self.invalid, "idle", "'b'"),
                    Self.bad("\(submit) ['a','refresh',{'external-power':V('u',1)}]", Self.invalid, "'b'"),
                    Self.bad("\(submit) ['a','refresh',{'discretionary':V('t',1)}]", Self.invalid, "'b'"),
                    Self.bad("\(app) CancelTask sa{sv} ['a',{}]", Self.missing, "no task 'a' waits"),
                    Self.bad("\(app) CancelTask sa{sv} ['x'*2**20,{}]", Self.missing),
                    Self.bad("\(app) CancelTask s ['a']", "InvalidArgs", "got 's'"),
                    Self.bad("\(app) TaskDone sa{sv} ['done',{}]", Self.missing, "no task is under way"),
                    Self.bad(
                        "\(app) TaskDone sa{sv} ['done',{'taks':V('s','a')}]", Self.invalid, "did you mean 'task'?"),
                    Self.bad("\(app) TaskDone sa{sv} ['done',{'task':V('u',1)}]", Self.invalid, "'s'"),
                    Self.bad("\(app) TaskDone", "InvalidArgs", "TaskDone takes 'sa{sv}', got ''"),
                    Self.bad("\(app) TaskDone sa{sv} ['dnoe',{}]", Self.invalid, "did you mean 'done'?"),
                    Self.bad("\(other) SubmitTask ssa{sv} ['a','refresh',{}]", "AccessDenied", "only the app itself"),
                    Self.bad("\(other) CancelTask sa{sv} ['a',{}]", "AccessDenied", "only the app itself"),
                    Self.bad("\(other) TaskDone sa{sv} ['done',{}]", "AccessDenied", "only the app itself"),
                    Self.bad("\(root) RunTask ssa{sv} ['org.example.App','a',{}]", Self.missing, "no task 'a' waits"),
                    Self.bad(
                        "\(root) RunTask ssa{sv} ['org.example.Gone','a',{}]", Self.missing,
                        "no task of 'org.example.Gone'"),
                    Self.bad("\(root) RunTask ssa{sv} ['','',{}]", Self.missing),
                    Self.bad("\(root) RunTask ssa{sv} ['x'*2**20,'x'*2**20,{}]", Self.missing),
                    Self.bad("\(root) RunTask ss ['a','b']", "InvalidArgs", "got 'ss'"),
                    Self.bad("\(root) ListUsage s ['a']", "InvalidArgs", "ListUsage takes 'a{sv}', got 's'"),
                    Self.bad("\(root) ListUsage a{sv} [{'aftr':V('a{sv}',{})}]", Self.invalid, "did you mean 'after'?"),
                    Self.bad("\(root) ListUsage a{sv} [{'after':V('s','apps')}]", Self.invalid, "'a{sv}'"),
                    Self.bad("\(root) ListUsage a{sv} [{'after':V('a{sv}',{})}]", Self.invalid, "a row of the list"),
                    Self.bad(
                        "\(root) ListUsage a{sv} [{'after':V('a{sv}',{'limit':V('u',1)})}]", Self.invalid,
                        "a row of the list"),
                    Self.bad("\(root) ListTasks s ['a']", "InvalidArgs", "ListTasks takes 'a{sv}', got 's'"),
                    Self.bad(
                        "\(root) SetState ssa{sv} ['nodot','terminated',{}]", Self.missing, "there is no app 'nodot'"),
                ], Stage())
        }

        @Test func ofTheReader() throws {
            let root = "app call org.jostle.Sensors1 /org/jostle/Sensors1 org.jostle.Sensors1"
            let sensor = "app call org.jostle.Sensors1 /org/jostle/Sensors1/accelerometer org.jostle.Sensors1.Sensor"
            let claim = "\(sensor) Claim a{sv}"
            try self.run(
                [
                    Self.bad("\(root) ListSensors s ['x']", "InvalidArgs", "ListSensors takes 'a{sv}', got 's'"),
                    Self.bad("\(root) ListUsage s ['a']", "InvalidArgs", "ListUsage takes 'a{sv}', got 's'"),
                    Self.bad("\(root) ListUsage a{sv} [{'aftr':V('a{sv}',{})}]", Self.invalid, "did you mean 'after'?"),
                    Self.bad("\(root) ListUsage a{sv} [{'after':V('s','apps')}]", Self.invalid, "'a{sv}'"),
                    Self.bad("\(root) ListUsage a{sv} [{'after':V('a{sv}',{})}]", Self.invalid, "a row of the list"),
                    Self.bad(
                        "\(root) ListUsage a{sv} [{'after':V('a{sv}',{'limit':V('u',1)})}]", Self.invalid,
                        "a row of the list"),
                    Self.bad("\(root) ListSensor", "UnknownMethod", "did you mean 'ListSensors'?"),
                    Self.bad("\(root) Claim a{sv} [{}]", "UnknownMethod"),
                    Self.bad("\(sensor) Claim", "InvalidArgs", "'a{sv}', got ''"),
                    Self.bad("\(sensor) Claim d [50.0]", "InvalidArgs", "got 'd'"),
                    Self.bad("\(sensor) Claim a{sv}u [{},1]", "InvalidArgs", "got 'a{sv}u'"),
                    Self.bad("\(sensor) Claim a{ss} [{'rate':'50'}]", "InvalidArgs", "got 'a{ss}'"),
                    Self.bad("\(claim) [{}]", Self.invalid, "'rate'", "missing"),
                    Self.bad("\(claim) [{'rat':V('d',50.0)}]", Self.invalid, "'rat'", "did you mean 'rate'?"),
                    Self.bad("\(claim) [{'rate':V('s','fast')}]", Self.invalid, "rate", "'d'", "string"),
                    Self.bad("\(claim) [{'rate':V('b',True)}]", Self.invalid, "rate", "'d'"),
                    Self.bad("\(claim) [{'rate':V('a{sv}',{})}]", Self.invalid, "rate", "'d'"),
                    Self.bad("\(claim) [{'rate':V('d',nan)}]", Self.invalid, "rate", "0.01 to 10000"),
                    Self.bad("\(claim) [{'rate':V('d',inf)}]", Self.invalid, "rate inf"),
                    Self.bad("\(claim) [{'rate':V('d',-inf)}]", Self.invalid, "rate -inf"),
                    Self.bad("\(claim) [{'rate':V('d',-50.0)}]", Self.invalid, "rate -50.0"),
                    Self.bad("\(claim) [{'rate':V('d',0.0)}]", Self.invalid, "rate 0.0"),
                    Self.bad("\(claim) [{'rate':V('d',1e300)}]", Self.invalid, "rate 1e+300"),
                    Self.bad("\(claim) [{'rate':V('d',5e-324)}]", Self.invalid, "rate 5e-324"),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'batch-latency':V('t',2**64-1)}]", Self.invalid,
                        "batch-latency 18446744073709551615"),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'batch-latency':V('t',10000001)}]", Self.invalid,
                        "batch-latency 10000001 us is outside 0 to 10000000 us"),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'batch-latency':V('x',-1)}]", Self.invalid, "batch-latency",
                        "'t'"
                    ),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'batch_latency':V('t',0)}]", Self.invalid,
                        "did you mean 'batch-latency'?"),
                    Self.bad("\(claim) [{'x'*2**20:V('d',50.0)}]", Self.invalid, "unknown option"),
                    Self.bad("\(claim) [{'rate':V('s','x'*2**20)}]", Self.invalid, "rate"),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'passive':V('s','yes')}]", Self.invalid, "passive is a boolean"),
                    Self.bad("\(claim) [{'rate':V('d',50.0),'decimation':V('s','men')}]", Self.invalid, "'mean'?"),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'decimation':V('u',1)}]", Self.invalid, "decimation is a text"),
                    Self.bad(
                        "\(claim) [{'rate':V('d',50.0),'decimation':V('s','x'*2**20)}]", Self.invalid,
                        "last, mean, peak"),
                    Self.bad("\(claim) [{'passive':V('b',True)}]", Self.invalid, "'rate'", "missing"),
                    Self.bad("\(sensor) Flush s ['now']", "InvalidArgs", "Flush takes 'a{sv}', got 's'"),
                    Self.bad("\(claim) [{'':V('d',50.0)}]", Self.invalid, "unknown option ''"),
                    Self.bad("\(sensor) Release s ['now']", "InvalidArgs", "Release takes 'a{sv}', got 's'"),
                    Self.bad("\(sensor) OpenStream", "InvalidArgs", "OpenStream takes 'a{sv}', got ''"),
                    Self.bad("\(sensor) OpenStream a{ss} [{'rate':'50'}]", "InvalidArgs", "got 'a{ss}'"),
                    Self.bad("\(sensor) OpenStream a{sv} [{}]", Self.invalid, "'rate'", "missing"),
                    Self.bad("\(sensor) OpenStream a{sv} [{'rate':V('d',nan)}]", Self.invalid, "0.01 to 10000"),
                    Self.bad("\(sensor) OpenStream a{sv} [{'rate':V('d',1e300)}]", Self.invalid, "rate 1e+300"),
                    Self.bad(
                        "\(sensor) OpenStream a{sv} [{'rate':V('d',50.0),'stream':V('t',1)}]", Self.invalid,
                        "unknown option 'stream'"),
                    Self.bad(
                        "\(sensor) OpenStream a{sv} [{'rate':V('d',50.0),'batch-latency':V('t',2**64-1)}]",
                        Self.invalid, "batch-latency"),
                    Self.bad("\(sensor) Inject", "InvalidArgs", "Inject takes 'sa{sv}'"),
                    Self.bad("\(sensor) Inject ss ['rest 1s','rest 1s']", "InvalidArgs", "got 'ss'"),
                    Self.bad("\(sensor) Inject ay [b'rest 1s']", "InvalidArgs", "got 'ay'"),
                    Self.bad("\(sensor) Inject sa{sv} ['shake peak=',{}]", Self.invalid, "motion:1"),
                    Self.bad("\(sensor) Inject sa{sv} ['shake peak=nan',{}]", Self.invalid),
                    Self.bad("\(sensor) Inject sa{sv} ['shake peak=1e999g',{}]", Self.invalid),
                    Self.bad("\(sensor) Inject sa{sv} ['shake peak=-3g',{}]", Self.invalid),
                    Self.bad("\(sensor) Inject sa{sv} ['shake for=1s for=1s',{}]", Self.invalid),
                    Self.bad("\(sensor) Inject sa{sv} ['shkae',{}]", Self.invalid, "did you mean 'shake'?"),
                    Self.bad("\(sensor) Inject sa{sv} ['shake paek=3g',{}]", Self.invalid, "did you mean 'peak'?"),
                    Self.bad("\(sensor) Inject sa{sv} ['seed=7',{}]", Self.invalid),
                    Self.bad("\(sensor) Inject sa{sv} ['rest 1s; loop',{}]", Self.invalid),
                    Self.bad("\(sensor) Nonsense", "UnknownMethod", "Nonsense"),
                ], Stage(broker: true))
        }

        @Test func ofTheBroker() throws {
            let root = "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1"
            let other = "other call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1"
            try self.run(
                [
                    Self.bad("\(root) Register", "InvalidArgs", "'sa{sv}', got ''"),
                    Self.bad("\(root) Register s ['']", "InvalidArgs", "got 's'"),
                    Self.bad("\(root) Register sa{ss} ['',{}]", "InvalidArgs", "got 'sa{ss}'"),
                    Self.bad("\(root) Register oa{sv} ['/',{}]", "InvalidArgs"),
                    Self.bad("\(other) Register sa{sv} ['',{'when':V('s','')}]", Self.invalid, "unknown option 'when'"),
                    Self.bad(
                        "\(other) Register sa{sv} ['',{'durable':V('s','yes')}]", Self.invalid, "durable is a boolean"),
                    Self.bad(
                        "\(other) Register sa{sv} ['',{'durable':V('b',True)}]", Self.invalid,
                        "only an app with a name can be durable"),
                    Self.bad("\(root) Forget", "InvalidArgs", "'sa{sv}', got ''"),
                    Self.bad("\(root) Forget o ['/']", "InvalidArgs", "got 'o'"),
                    Self.bad("\(root) Forget sa{sv} ['x.'*2**20,{}]", "org.jostle.Error.NotFound", "is durable"),
                    Self.bad("\(root) Forget sa{sv} ['a\\nb',{}]", "org.jostle.Error.NotFound", "is durable"),
                    Self.bad("\(other) Register sa{sv} ['no_dot',{}]", Self.invalid, "'no_dot' is no app id"),
                    Self.bad("\(other) Register sa{sv} [':1.1',{}]", Self.invalid, "':1.1' is no app id"),
                    Self.bad("\(other) Register sa{sv} ['org..A',{}]", Self.invalid, "no app id"),
                    Self.bad("\(other) Register sa{sv} ['x'*2**20,{}]", Self.invalid, "no app id"),
                    Self.bad("\(other) Register sa{sv} ['a\\nb',{}]", Self.invalid, "no app id"),
                    Self.bad("\(other) Register sa{sv} ['org.example.Nobody',{}]", "org.jostle.Error.IdentityMismatch"),
                    Self.bad(
                        "\(other) Register sa{sv} ['org.example.App',{}]", "org.jostle.Error.IdentityMismatch",
                        "org.example.App"),
                    Self.bad(
                        "\(other) Register sa{sv} ['org.freedesktop.DBus',{}]", "org.jostle.Error.IdentityMismatch"),
                    Self.bad(
                        "\(root) Register sa{sv} ['org.example.Second',{}]", Self.invalid,
                        "already registered as 'org.example.App'"),
                    Self.bad("\(root) ListApps s ['all']", "InvalidArgs", "ListApps takes 'a{sv}', got 's'"),
                    Self.bad("\(root) ListCounters s ['all']", "InvalidArgs", "ListCounters takes 'a{sv}', got 's'"),
                    Self.bad("\(root) ListCounters a{sv} [{'aftr':V('o','/')}]", Self.invalid, "did you mean 'after'?"),
                    Self.bad("\(root) ListCounters a{sv} [{'after':V('s','/')}]", Self.invalid, "'o'"),
                    Self.bad("\(root) DescribePresets b [True]", "InvalidArgs", "got 'b'"),
                    Self.bad("\(root) Pause b [True]", "InvalidArgs", "Pause takes 'a{sv}', got 'b'"),
                    Self.bad(
                        "\(root) Pause a{sv} [{'for':V('t',1)}]", Self.invalid,
                        "Pause: unknown option 'for'; Pause takes no options"),
                    Self.bad("\(root) Watch s ['all']", "InvalidArgs", "Watch takes 'a{sv}', got 's'"),
                    Self.bad("\(root) Watch a{sv} [{'app':V('s','a')}]", Self.invalid, "Watch takes no options"),
                    Self.bad("\(root) Explain", "InvalidArgs", "'ta{sv}', got ''"),
                    Self.bad("\(root) Explain xa{sv} [-1,{}]", "InvalidArgs", "got 'xa{sv}'"),
                    Self.bad("\(root) Explain ta{ss} [0,{}]", "InvalidArgs", "got 'ta{ss}'"),
                    Self.bad("\(root) Explain ta{sv} [0,{}]", Self.missing, "nothing has been decided yet"),
                    Self.bad("\(other) Explain ta{sv} [0,{}]", Self.missing, "nothing has been decided yet"),
                    Self.bad("\(root) Explain ta{sv} [1,{}]", Self.missing, "epoch 1 has no verdict for this app"),
                    Self.bad(
                        "\(root) Explain ta{sv} [2**64-1,{}]", Self.missing,
                        "epoch 18446744073709551615 has no verdict for this app"),
                    Self.bad(
                        "\(root) Explain ta{sv} [2**64-1,{'sequence':V('b',True)}]", Self.missing,
                        "number 18446744073709551615"),
                    Self.bad("\(root) Explain ta{sv} [0,{'ap':V('s','')}]", Self.invalid, "did you mean 'app'?"),
                    Self.bad("\(root) Explain ta{sv} [0,{'x'*2**20:V('s','')}]", Self.invalid, "unknown option"),
                    Self.bad("\(root) Explain ta{sv} [0,{'app':V('b',True)}]", Self.invalid, "app is a text 's'"),
                    Self.bad("\(root) Explain ta{sv} [0,{'app':V('s','')}]", Self.invalid, "'' is no app id"),
                    Self.bad("\(root) Explain ta{sv} [0,{'app':V('s','x'*2**20)}]", Self.invalid, "is no app id"),
                    Self.bad(
                        "\(root) Explain ta{sv} [0,{'app':V('s','org.example.B')}]", "AccessDenied", "itself only"),
                    Self.bad("\(root) Explain ta{sv} [0,{'app':V('s',':1.1')}]", "AccessDenied", "itself only"),
                    Self.bad("\(other) Explain ta{sv} [0,{'app':V('s',':9.9')}]", Self.missing, "not registered"),
                    Self.bad("\(root) Explain ta{sv} [1,{'sequence':V('s','yes')}]", Self.invalid, "a boolean 'b'"),
                    Self.bad(
                        "\(other) Explain ta{sv} [1,{'sequence':V('b',True)}]", "InvalidArgs", "whose number it is"),
                    Self.bad("\(root) WhyNot", "InvalidArgs", "'sa{sv}', got ''"),
                    Self.bad("\(root) WhyNot s ['']", "InvalidArgs", "got 's'"),
                    Self.bad("\(other) WhyNot sa{sv} ['',{}]", "InvalidArgs", "you are none"),
                    Self.bad("\(other) WhyNot sa{sv} ['no_dot',{}]", Self.invalid, "'no_dot' is no app id"),
                    Self.bad("\(other) WhyNot sa{sv} ['x'*2**20,{}]", Self.invalid, "is no app id"),
                    Self.bad(
                        "\(other) WhyNot sa{sv} ['org.example.B',{}]", Self.missing, "org.example.B is not registered"),
                    Self.bad("\(root) WhyNot sa{sv} ['org.example.B',{}]", "AccessDenied", "itself only"),
                    Self.bad("\(root) WhyNot sa{sv} ['',{'detector':V('s','a')}]", Self.missing, "no detector 'a'"),
                    Self.bad(
                        "\(root) WhyNot sa{sv} ['',{'detector':V('s','x'*2**20)}]", Self.missing, "no detector 'x"),
                    Self.bad("\(root) WhyNot sa{sv} ['',{'detector':V('d',1.0)}]", Self.invalid, "detector is a text"),
                    Self.bad("\(root) WhyNot sa{sv} ['',{'peak':V('d',nan)}]", Self.invalid, "finite"),
                    Self.bad("\(root) WhyNot sa{sv} ['',{'peak':V('d',-inf)}]", Self.invalid, "finite"),
                    Self.bad("\(root) WhyNot sa{sv} ['',{'peak':V('s','2g')}]", Self.invalid, "a number 'd'"),
                    Self.bad("\(root) WhyNot sa{sv} ['',{'peek':V('d',1.0)}]", Self.invalid, "did you mean 'peak'?"),
                    Self.bad("\(root) Push", "InvalidArgs", "'sa{sv}', got ''"),
                    Self.bad("\(root) Push o ['/']", "InvalidArgs", "got 'o'"),
                    Self.bad("\(root) Push s ['org.example.App']", "InvalidArgs", "got 's'"),
                    Self.bad("\(root) Push sa{sv} ['',{}]", Self.invalid, "'' is no app id"),
                    Self.bad("\(root) Push sa{sv} [':1.1',{}]", Self.invalid, "':1.1' is no app id"),
                    Self.bad("\(root) Push sa{sv} ['/bin/sh -c id',{}]", Self.invalid, "is no app id"),
                    Self.bad("\(root) Push sa{sv} ['x.'*2**20,{}]", Self.invalid, "is no app id"),
                    Self.bad("\(root) Push sa{sv} ['org.example.App',{}]", "AccessDenied", "MayPush"),
                    Self.bad("\(root) SetForeground", "InvalidArgs", "'sa{sv}', got ''"),
                    Self.bad("\(root) SetForeground o ['/']", "InvalidArgs", "got 'o'"),
                    Self.bad("\(root) SetForeground sa{sv} ['no_dot',{}]", Self.invalid, "'no_dot' is no app id"),
                    Self.bad("\(root) SetForeground sa{sv} [':1.1',{}]", Self.invalid, "is no app id"),
                    Self.bad("\(root) SetForeground sa{sv} ['x.'*2**20,{}]", Self.invalid, "is no app id"),
                    Self.bad("\(root) SetWindows s ['a']", "InvalidArgs", "'a(sa{sv})a{sv}', got 's'"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('no_dot',{'state':V('s','front')})],{}]", Self.invalid,
                        "'no_dot' is no app id"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{})],{}]", Self.invalid, "'state' (s) is missing"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('s','fornt')})],{}]", Self.invalid,
                        "did you mean 'front'?"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('u',1)})],{}]", Self.invalid,
                        "state is a text 's'"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('s','front'),'pid':V('s','1')})],{}]",
                        Self.invalid, "pid is a whole number 't'"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('s','front'),'pid':V('t',2**32)})],{}]",
                        Self.invalid, "pid 4294967296 is no process"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('s','front'),'widnow':V('s','')})],{}]",
                        Self.invalid, "did you mean 'window'?"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('',{'state':V('s','hidden')})],{}]", Self.invalid,
                        "of no known app"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('s','front')})]*2,{}]", Self.invalid,
                        "stands twice"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[('a.b',{'state':V('s','front'),'window':V('s','x'*65)})],{}]",
                        "LimitsExceeded", "focus-name-bytes is 64"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[],{'source':V('s','x'*2**20)}]", Self.invalid,
                        "no name of a source"),
                    Self.bad(
                        "\(root) SetWindows a(sa{sv})a{sv} [[],{'source':V('s','\\x1b[2J')}]", Self.invalid,
                        "no name of a source"),
                    Self.bad("\(root) SetWindows a(sa{sv})a{sv} [[],{'sorce':V('s','')}]", Self.invalid, "'source'?"),
                    Self.bad("\(root) ForgetWindows s ['a']", "InvalidArgs", "'a{sv}', got 's'"),
                    Self.bad("\(root) ForgetWindows a{sv} [{'source':V('u',1)}]", Self.invalid, "source is a text 's'"),
                    Self.bad("\(root) SetPlaying s ['a']", "InvalidArgs", "'asa{sv}', got 's'"),
                    Self.bad("\(root) SetPlaying asa{sv} [['a'],{}]", Self.invalid, "no app id"),
                    Self.bad("\(root) SetFrozen asa{sv} [[''],{}]", Self.invalid, "no app id"),
                    Self.bad("\(root) SetFrozen asa{sv} [[],{'sorce':V('s','')}]", Self.invalid, "'source'?"),
                    Self.bad(
                        "\(root) SetFrozen asa{sv} [['a.b'],{'source':V('s','x'*65)}]", Self.invalid,
                        "no name of a source"),
                    Self.bad(
                        "\(root) SetPlaying asa{sv} [['a.b%d'%i for i in range(257)],{}]", "LimitsExceeded",
                        "apps-per-source is 256"),
                    Self.bad("\(root) SetState ss ['org.example.App','auto']", "InvalidArgs", "'ssa{sv}', got 'ss'"),
                    Self.bad("\(root) SetState ssa{sv} ['org.example.App','',{}]", Self.invalid, "no state ''"),
                    Self.bad("\(root) SetState ssa{sv} ['org.example.App','dead',{}]", Self.invalid, "no state 'dead'"),
                    Self.bad(
                        "\(root) SetState ssa{sv} ['org.example.App','backgroud',{}]", Self.invalid,
                        "did you mean 'background'?"),
                    Self.bad(
                        "\(root) SetState ssa{sv} ['org.example.App','x'*2**20,{}]", Self.invalid, "no state 'xxx"),
                    Self.bad(
                        "\(root) SetState ssa{sv} ['org.example.B','auto',{}]", Self.missing, "no app 'org.example.B'"),
                    Self.bad("\(root) SetState ssa{sv} ['x'*2**20,'auto',{}]", Self.missing, "no app 'xxx"),
                    Self.bad("\(root) SetState ssa{sv} ['','auto',{}]", Self.missing, "no app ''"),
                    Self.bad("\(root) SetLock b [True]", "InvalidArgs", "SetLock takes 'sa{sv}', got 'b'"),
                    Self.bad("\(root) SetLock sa{sv} ['lokced',{}]", Self.invalid, "did you mean 'locked'?"),
                    Self.bad("\(root) Reload s ['now']", "InvalidArgs", "Reload takes 'a{sv}', got 's'"),
                    Self.bad("\(root) Registre sa{sv} ['',{}]", "UnknownMethod", "Registre, did you mean 'Register'?"),
                    Self.bad("\(root) AddDetectors a(sa{sv}) [[]]", "UnknownMethod"),
                ], Stage())
        }

        @Test func ofAnApp() throws {
            let object = "call org.jostle.Broker1 /org/jostle/Broker1/apps/org_2eexample_2eApp org.jostle.Broker1.App"
            let app = "app \(object)"
            func add(_ body: String, _ error: String = Self.invalid, _ words: String...) -> Case {
                Case(
                    call: "\(app) AddDetectors a(sa{sv}) [[\(body)]]",
                    error: error.contains(".") ? error : "org.freedesktop.DBus.Error.\(error)", words: words)
            }
            func option(_ text: String, _ words: String...) -> Case {
                Case(
                    call: "\(app) AddDetectors a(sa{sv}) [[['a',{'preset':V('s','shake.planar'),\(text)}]]]",
                    error: Self.invalid, words: ["detector 'a'"] + words)
            }
            func condition(_ value: String, _ words: String...) -> Case {
                Case(
                    call: "\(app) AddDetectors a(sa{sv}) [[['a',{'when':\(value)}]]]", error: Self.invalid,
                    words: ["detector 'a'"] + words)
            }
            let planar = "{'preset':V('s','shake.planar')}"
            try self.run(
                [
                    Self.bad("\(app) AddDetectors", "InvalidArgs", "'a(sa{sv})', got ''"),
                    Self.bad("\(app) AddDetectors a{sv} [{}]", "InvalidArgs", "got 'a{sv}'"),
                    Self.bad("\(app) AddDetectors a(ss) [[]]", "InvalidArgs"),
                    Self.bad("\(app) AddDetectors a(sa{sv})s [[],'']", "InvalidArgs"),
                    add("['',\(planar)]", Self.invalid, "needs a name"),
                    add("['a',{}]", Self.invalid, "'a'", "give 'preset' or 'when'"),
                    add("['a',{'presett':V('s','shake')}]", Self.invalid, "'presett'", "did you mean 'preset'?"),
                    add("['a',{'preset':V('s','')}]", Self.invalid, "unknown preset ''"),
                    add("['a',{'preset':V('s','shake.planer')}]", Self.invalid, "did you mean 'shake.planar'?"),
                    add("['a',{'preset':V('s','x'*10000)}]", Self.invalid, "unknown preset"),
                    add("['a',{'preset':V('d',1.0)}]", Self.invalid, "preset"),
                    add("['a',{'preset':V('as',[])}]", Self.invalid, "preset"),
                    add("['a',{'preset':V('v',V('s','shake.planar'))}]", Self.invalid, "preset"),
                    add("['a',\(planar)],['a',\(planar)]", Self.invalid, "'a' stands twice"),
                    add("['a',\(planar)],['b',{}]", Self.invalid, "'b'"),
                    option("'treshold':V('d',2.0)", "'treshold'", "did you mean 'threshold'?"),
                    option("'':V('d',2.0)", "unknown option ''"),
                    option("'x'*2**20:V('d',2.0)", "unknown option"),
                    option("'threshold':V('d',nan)", "threshold", "finite"),
                    option("'threshold':V('d',inf)", "threshold", "finite"),
                    option("'threshold':V('d',-inf)", "threshold", "finite"),
                    option("'threshold':V('d',-1.0)", "threshold", "-1.0g", "0.0g to 64.0g"),
                    option("'threshold':V('i',-1)", "threshold", "-1.0g"),
                    option("'threshold':V('t',2**64-1)", "threshold", "0.0g to 64.0g"),
                    option("'threshold':V('s','')", "threshold"),
                    option("'threshold':V('s','nan')", "threshold"),
                    option("'threshold':V('s','1e400g')", "threshold"),
                    option("'threshold':V('s','2.3m')", "threshold", "acceleration", "length"),
                    option("'threshold':V('s','2.3 g g')", "threshold", "column"),
                    option("'threshold':V('b',True)", "threshold"),
                    option("'threshold':V('ad',[2.3])", "threshold"),
                    option("'every':V('d',0.1)", "every", "microseconds"),
                    option("'every':V('t',0)", "every", "1ms to 60s"),
                    option("'every':V('t',2**64-1)", "every", "1ms to 60s"),
                    option("'every':V('x',-(2**63))", "every"),
                    option("'every':V('s','-100ms')", "every"),
                    option("'every':V('s','100mz')", "every"),
                    option("'every':V('s','2.3g')", "every", "time"),
                    option("'rest':V('s','25h')", "rest", "0s to 86400s"),
                    option("'rest-mode':V('s','leeding')", "rest-mode", "'leading', 'restarting', 'none'"),
                    option("'decimation':V('s','max')", "decimation", "'last', 'mean', 'peak'"),
                    option("'sensor':V('s','light')", "sensor", "accelerometer"),
                    option("'when':V('s','x > 1g')", "when", "not both"),
                    condition("V('s','')", "when, column 1"),
                    condition("V('s','x >')", "when, column 4"),
                    condition("V('s','x > 1s')", "when", "column"),
                    condition("V('s','w > 1g')", "when", "column 1", "w"),
                    condition("V('s','hypott(x, y) > 1g')", "did you mean 'hypot'?"),
                    condition("V('s','x > 1g; y > 1g')", "when", "column"),
                    condition("V('d',nan)", "when"),
                    Self.bad("\(app) RemoveDetectors", "InvalidArgs", "'asa{sv}', got ''"),
                    Self.bad("\(app) RemoveDetectors s ['a']", "InvalidArgs", "got 's'"),
                    Self.bad("\(app) RemoveDetectors asa{sv} [['nothing'],{}]", Self.missing, "'nothing'"),
                    Self.bad("\(app) RemoveDetectors asa{sv} [[''],{}]", Self.missing),
                    Self.bad("\(app) RemoveDetectors asa{sv} [['x'*2**20],{}]", Self.missing),
                    Self.bad("\(app) Ack tts [1,1,'consume']", "InvalidArgs", "'ttsa{sv}', got 'tts'"),
                    Self.bad("\(app) Ack ttsa{sv} [1,1,'maybe',{}]", "InvalidArgs", "'consume' or 'pass', not 'maybe'"),
                    Self.bad("\(app) Subscribe", "InvalidArgs", "'a{sv}', got ''"),
                    Self.bad("\(app) Subscribe a{sv} [{'sinse':V('(tt)',[1,1])}]", Self.invalid, "'since'"),
                    Self.bad("\(app) Subscribe a{sv} [{'since':V('t',1)}]", Self.invalid, "an event '(tt)'"),
                    Self.bad("\(app) Subscribe a{sv} [{'since':V('(ts)',[1,'x'])}]", Self.invalid, "an event '(tt)'"),
                    Self.bad("\(app) BeginAssertion s ['a']", "InvalidArgs", "'sa{sv}', got 's'"),
                    Self.bad("\(app) BeginAssertion sa{sv} ['',{}]", Self.invalid, "needs a name"),
                    Self.bad(
                        "\(app) BeginAssertion sa{sv} ['a',{'warnin':V('t',1)}]", Self.invalid,
                        "did you mean 'warning'?"),
                    Self.bad(
                        "\(app) BeginAssertion sa{sv} ['a',{'warning':V('s','5g')}]", Self.invalid, "'5g' is no time"),
                    Self.bad(
                        "\(app) BeginAssertion sa{sv} ['a',{'warning':V('t',2**64-1)}]", Self.invalid, "too long"),
                    Self.bad("\(app) BeginActivity s ['audio']", "InvalidArgs", "'sa{sv}', got 's'"),
                    Self.bad("\(app) BeginActivity sa{sv} ['',{}]", Self.invalid, "no mode ''"),
                    Self.bad("\(app) BeginActivity sa{sv} ['adio',{}]", Self.invalid, "did you mean 'audio'?"),
                    Self.bad("\(app) BeginActivity sa{sv} ['x'*2**20,{}]", Self.invalid, "no mode 'xxx"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'a':V('b',True)}]", Self.invalid, "unknown option 'a'"),
                    Self.bad("\(app) BeginActivity sa{sv} ['audio',{}]", "AccessDenied", "Modes in apps.d"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'class':V('s','playbak')}]", Self.invalid,
                        "no class 'playbak'"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'class':V('s','x'*2**20)}]", Self.invalid,
                        "no class 'xxx"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'class':V('d',1.0)}]", Self.invalid,
                        "class is a text 's'"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'class':V('s','ambient'),'mix-with-others':V('s','y')}]",
                        Self.invalid, "mix-with-others is a boolean 'b'"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'mix-with-others':V('b',True)}]", Self.invalid,
                        "only a class mixes"),
                    Self.bad(
                        "\(app) BeginActivity sa{sv} ['audio',{'class':V('s','playback')}]", "AccessDenied",
                        "Modes in apps.d"),
                    Self.bad("\(app) SessionChanged", "UnknownMethod"),
                    Self.bad("\(app) AssertionExpiring", "UnknownMethod"),
                    Self.bad("\(app) Event", "UnknownMethod"),
                    // Somebody else's object.
                    Self.bad("other \(object) AddDetectors a(sa{sv}) [[]]", "AccessDenied", "only the app itself"),
                    Self.bad("other \(object) RemoveDetectors asa{sv} [[],{}]", "AccessDenied", "only the app itself"),
                    Self.bad("other \(object) Ack ttsa{sv} [1,1,'consume',{}]", "AccessDenied", "only the app itself"),
                    Self.bad("other \(object) Subscribe a{sv} [{}]", "AccessDenied", "only the app itself"),
                    Self.bad("other \(object) BeginAssertion sa{sv} ['a',{}]", "AccessDenied", "only the app itself"),
                    Self.bad(
                        "other \(object) BeginActivity sa{sv} ['audio',{}]", "AccessDenied", "only the app itself"),
                    Self.bad(
                        "other call org.jostle.Broker1 /org/jostle/Broker1/apps/_3a1_2e999 org.jostle.Broker1.App "
                            + "AddDetectors a(sa{sv}) [[]]", "UnknownObject"),
                ], Stage())
        }

        /// Each limit that a caller can cross is named by the error and stands in `Limits`.
        @Test func everyLimitIsNamed() throws {
            let stage = try Stage()
            let object = "call org.jostle.Broker1 /org/jostle/Broker1/apps/org_2eexample_2eApp org.jostle.Broker1.App"
            let add = "app \(object) AddDetectors a(sa{sv})"
            let sensor = "app call org.jostle.Sensors1 /org/jostle/Sensors1/accelerometer org.jostle.Sensors1.Sensor"
            func condition(_ text: String) -> String { "\(add) [[['a',{'when':V('s',\(text))}]]]" }
            let many = "[('d%d'%i,{'preset':V('s','shake.planar')}) for i in range"
            let broker = try stage.property("Limits", at: Stage.Object.broker)
            let reader = try stage.property("Limits", at: Stage.Object.sensors)
            let crossings: [(limit: String, table: String, calls: [String])] = [
                ("detector-name-bytes", broker, ["\(add) [[['n'*129,{}]]]"]),
                ("options-per-detector", broker, ["\(add) [[['a',{str(i):V('d',0.0)for i in range(33)}]]]"]),
                ("option-bytes", broker, ["\(add) [[['a',{'preset':V('s','x'*2**15)}]]]"]),
                ("detectors-per-call", broker, ["\(add) [\(many)(65)]]"]),
                (
                    "detectors-per-app", broker,
                    (0...32).map { "\(add) [\(many)(\(64 * $0),\(min(2049, 64 * ($0 + 1))))]]" }
                ),
                ("detectors-per-app", broker, ["app \(object) RemoveDetectors asa{sv} [['d']*2049,{}]"]),
                (
                    "condition-bytes-per-call", broker,
                    ["\(add) [[('d%d'%i,{'when':V('s','x > 1g'+' '*4000)}) for i in range(17)]]"]
                ),
                (
                    "sensor-name-bytes", broker,
                    ["\(add) [[['a',{'when':V('s','lux > 1lx'),'sensor':V('s','light-'+'x'*123)}]]]"]
                ),
                ("condition-length", broker, [condition("'x > 1g' + ' ' * 4096")]),
                ("condition-nesting", broker, [condition("'(' * 33 + 'x' + ')' * 33 + ' > 1g'")]),
                ("condition-operations", broker, [condition("'+'.join('x*%d'%i for i in range(300))+' > 1g'")]),
                ("condition-comparisons", broker, [condition("' and '.join('x>%dg'%i for i in range(129))")]),
                (
                    "condition-stateful", broker,
                    [condition("' or '.join('held(x>%dg,1s)'%i for i in range(33))")]
                ),
                (
                    "stateful-per-app", broker,
                    [
                        "\(add) [[('d%d'%i,{'when':V('s',' or '.join('peak(x,%dms)>1g'%(32*i+j+1)for j in range(32)))})"
                            + " for i in range(33)]]"
                    ]
                ),
                (
                    "operations-per-app", broker,
                    (0..<11).map {
                        "\(add) [[('d%d'%i,{'when':V('s','x*%d+y*%d>1g'%(i+2,i+2))})"
                            + " for i in range(\(64 * $0),\(64 * ($0 + 1)))]]"
                    }
                ),
                (
                    "mute", broker,
                    ["app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Mute ta{sv} [10000001,{}]"]
                ),
                ("assertion-name-bytes", broker, ["app \(object) BeginAssertion sa{sv} ['n'*129,{}]"]),
                ("warning", broker, ["app \(object) BeginAssertion sa{sv} ['a',{'warning':V('t',3600000001)}]"]),
                (
                    "held-per-app", broker,
                    Array(repeating: "app \(object) BeginAssertion sa{sv} ['a',{}]", count: 65)
                ),
                ("motion-bytes", reader, ["\(sensor) Inject sa{sv} ['r'*2**20,{}]"]),
                ("motions", reader, Array(repeating: "\(sensor) Inject sa{sv} ['rest 1h',{}]", count: 65)),
            ]
            for crossing in crossings {
                #expect(crossing.table.contains("\"\(crossing.limit)\" "), "\(crossing.limit): \(crossing.table)")
                let lines = try stage.script(
                    [
                        "app own org.example.App",
                        "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv} "
                            + "['org.example.App',{}]",
                    ] + crossing.calls)
                for line in lines.dropLast() { #expect(line.hasPrefix("app ok "), "\(line.prefix(300))") }
                let last = try #require(lines.last)
                #expect(
                    last.hasPrefix("app error org.freedesktop.DBus.Error.LimitsExceeded: "), "\(last.prefix(300))")
                #expect(last.contains(crossing.limit), "\(last.prefix(300))")
            }
        }

        /// One connection more than a sensor takes is refused, and the others are not touched.
        @Test func claimantsAreLimited() throws {
            let stage = try Stage()
            let crowd = try Crowd.claimants(1_024).start(on: stage.address, [])
            let claim = "call org.jostle.Sensors1 /org/jostle/Sensors1/accelerometer org.jostle.Sensors1.Sensor Claim"
            #expect(
                try stage.script("p \(claim) a{sv} [{'rate':V('d',0.01)}]")
                    == ["p error org.freedesktop.DBus.Error.LimitsExceeded: claimants is at its limit of 1024"])
            #expect(try stage.property("Claimants", at: Stage.Object.accelerometer).hasPrefix("a(sdttta{sv}) 64 "))
            #expect(try stage.property("Limits", at: Stage.Object.sensors).contains("\"claimants\" 1024"))
            _ = try crowd.terminate()
        }

        /// A peer's text is never repeated such that it can change how a terminal or a log looks.
        @Test func textIsShownHarmlessly() throws {
            let stage = try Stage()
            for (path, interface, call, shown) in [
                (
                    Stage.Object.accelerometer, "org.jostle.Sensors1.Sensor",
                    ["Inject", "sa{sv}", "\u{202E}\u{1B}[2Jshake é", "0"],
                    "unknown motion '\u{FFFD}\u{FFFD}[2Jshake'"
                ),
                (
                    Stage.Object.broker, "org.jostle.Broker1", ["Register", "sa{sv}", "a\u{7}\nb\u{9B}31m", "0"],
                    "'a\u{FFFD}\u{FFFD}b\u{FFFD}31m' is no app id"
                ),
            ] {
                let service = interface == "org.jostle.Broker1" ? interface : "org.jostle.Sensors1"
                let result = try stage.busctl(["call", service, path, interface] + call)
                #expect(result.status == 1)
                #expect(result.stderr.contains(shown), "\(result.stderr)")
            }
        }

        @Test func ofTheStandardInterfaces() throws {
            var cases: [Case] = []
            for (name, path, interface) in [
                ("org.jostle.Sensors1", "/org/jostle/Sensors1/accelerometer", "org.jostle.Sensors1.Sensor"),
                ("org.jostle.Broker1", "/org/jostle/Broker1", "org.jostle.Broker1"),
                ("org.jostle.Broker1", "/org/jostle/Broker1/apps/org_2eexample_2eApp", "org.jostle.Broker1.App"),
            ] {
                let properties = "app call \(name) \(path) org.freedesktop.DBus.Properties"
                cases += [
                    Self.bad(
                        "\(properties) Get ss ['\(interface)','Nothing']", "UnknownProperty", "Nothing; known are "),
                    Self.bad(
                        "\(properties) Get ss ['\(interface)x','X']", "UnknownInterface",
                        "\(interface)x, did you mean '\(interface)'?"),
                    Self.bad("\(properties) Get ss ['org.example.No','X']", "UnknownInterface", "org.example.No"),
                    Self.bad("\(properties) Get ss ['x'*2**20,'X']", "UnknownInterface"),
                    Self.bad("\(properties) Get ss ['\(interface)','x'*2**20]", "UnknownProperty"),
                    Self.bad("\(properties) Get s ['\(interface)']", "InvalidArgs"),
                    Self.bad("\(properties) GetAll s ['org.example.No']", "UnknownInterface"),
                    Self.bad("\(properties) GetAll ss ['','']", "InvalidArgs"),
                    Self.bad("\(properties) Set ssv ['\(interface)','Nothing',V('t',1)]", "UnknownProperty"),
                    Self.bad("\(properties) Set ss ['\(interface)','Nothing']", "InvalidArgs"),
                    Self.bad("\(properties) Sett ssv ['','',V('t',1)]", "UnknownMethod"),
                    Self.bad(
                        "app call \(name) \(path) org.freedesktop.DBus.Introspectable Introspect s ['x']", "InvalidArgs"
                    ),
                    Self.bad(
                        "app call \(name) \(path)/none org.freedesktop.DBus.Introspectable Introspect", "UnknownObject"),
                    Self.bad("app call \(name) \(path) org.freedesktop.DBus.Peer Pong", "UnknownMethod"),
                    Self.bad("app call \(name) \(path) org.example.No Hello", "UnknownInterface"),
                    Self.bad("app call \(name) \(path) - Nonsense", "UnknownMethod"),
                    Self.bad("app call \(name) /nowhere \(interface) Nonsense", "UnknownObject", "/nowhere"),
                    Self.bad("app call \(name) / - Nonsense", "UnknownObject"),
                ]
            }
            for (path, interface, property) in [
                ("/org/jostle/Sensors1/accelerometer", "org.jostle.Sensors1.Sensor", "Rate"),
                ("/org/jostle/Sensors1", "org.jostle.Sensors1", "Version"),
                ("/org/jostle/Broker1", "org.jostle.Broker1", "Limits"),
                ("/org/jostle/Broker1/apps/org_2eexample_2eApp", "org.jostle.Broker1.App", "State"),
            ] {
                let name = path.hasPrefix("/org/jostle/Sensors1") ? "org.jostle.Sensors1" : "org.jostle.Broker1"
                cases.append(
                    Self.bad(
                        "app call \(name) \(path) org.freedesktop.DBus.Properties Set ssv "
                            + "['\(interface)','\(property)',V('d',1.0)]", "PropertyReadOnly", property))
            }
            try self.run(cases, Stage())
        }

        /// `kept` is shown as it was, and nothing beside it.
        @Test func allOrNone() throws {
            let stage = try Stage()
            let object = "app call org.jostle.Broker1 /org/jostle/Broker1/apps/org_2eexample_2eApp"
            let planar = "{'preset':V('s','shake.planar')}"
            let read = "\(object) org.freedesktop.DBus.Properties Get ss ['org.jostle.Broker1.App','Detectors']"
            let lines = try stage.script(
                "app own org.example.App",
                "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv} ['org.example.App',{}]",
                "\(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) [[['kept',\(planar)]]]", read,
                "\(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) [[['new',\(planar)],['bad',{}]]]", read,
                "\(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) [[['kept',{'preset':V('s','shake.axis')}],['bad',{}]]]",
                read, "\(object) org.jostle.Broker1.App RemoveDetectors asa{sv} [['kept','gone'],{}]", read)
            try #require(lines.count == 9)
            #expect(lines[2].contains("\"kept\"") && !lines[2].contains("\"new\""))
            for index in [4, 6, 8] {
                #expect(lines[index - 1].hasPrefix("app error "))
                #expect(lines[index] == lines[2])
            }
        }
    }
}
