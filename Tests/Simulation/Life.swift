/// One thing that happens in a life. Each means something whatever happened before, so that any can be left out.
package struct Step: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        // Time, in ms.
        /// Time passes, and timers run when they are due.
        case pass
        /// The broker has no turn for so long: timers run late.
        case stall
        /// The system sleeps.
        case sleep
        /// The wall clock is set; time goes on as before.
        case jump
        // Motion.
        /// Shakes of so many tenths of g arrive together, so many.
        case shake
        /// The reader loses its sensors (0) or has them (1).
        case sensor
        case pause
        // Clients, by number.
        case start, quit
        /// Reads so many messages, and answers no event.
        case read
        /// Reads so many, and answers as it goes.
        case work
        /// Answers the last call or event that wants it; 1: passes it on, 2: refuses the call.
        case answer
        /// Answers an event that it does not have, so far beside the last.
        case lie
        case subscribe, listen, forget
        /// What a client registers is to last (1), or no more (0); or its user has that forgotten (2).
        case last
        /// A client is said to be in a state.
        case state
        /// Those clients are said to be in front whose bits are set, or seen from the ninth on (-1: nobody says anything); or cannot run.
        case seen, frozen
        /// The device is locked (1), or is not.
        case lock
        // The bus.
        /// The broker takes so many messages of a client.
        case hear
        /// Everybody reads, works and is heard once.
        case round
        // The disk.
        /// What was handed over is brought to the disk.
        case write
        /// The broker hears what the disk says.
        case news
        /// The disk is well (0), fails (1) or does not answer (2).
        case disk
        /// What was on the disk is gone.
        case wipe
        // The broker.
        case kill
        /// It is killed when the disk has all (0), nothing (1) or the first transaction (2), and before it hears of it.
        case tear
        /// It is killed when it has handed so many more changes of what is due to the disk, which has them, and begins anew.
        case cut
        case begin
        case policy
        // Launches.
        /// There is such a version of an app file; 0: there is none.
        case file
        /// What a client's program does that is started: it comes up (0), is not known (1), dies (2) or hangs (3); or there is
        /// no bus to ask for it (4).
        case program
        /// What was to be started for a client does what it does.
        case rise
        /// Somebody wants a client's app launched.
        case push
        // Tasks.
        /// A client hands in a task, or takes it back.
        case submit, cancel
        /// It is through with its task; 1: it breaks it off.
        case finish
        /// The user of a client's app ends it.
        case end
        /// Somebody wants a task of a client's app run now.
        case force
        /// Nobody uses the device (1), and it runs on its battery (2).
        case device
        // The reader.
        /// It begins, or is killed.
        case up, down
        /// A device is there (1) or gone (0), does in a way that it does, or has so many readings.
        case plug, ail, measure
        /// A program that listens comes, or dies; 1: a child keeps its streams.
        case join, part
        /// It claims a sensor, or opens a stream; asks for all that waits, or lets go, of a sensor or behind them a stream.
        case claim, open, flush, release
        /// It reads so much of all that it has, and the reader hears so much of it.
        case drain, heed
        /// So many others of its user claim and leave.
        case crowd
        /// The reader itself claims a sensor, or lets it go (-1).
        case own
        /// polkit does in a way that it does; says that those are in front whose bits are set; answers so much.
        case polkit, front, verdict

        var isOfReader: Bool {
            switch self {
            case .up, .down, .plug, .ail, .measure, .join, .part, .claim, .open, .flush, .release, .drain, .heed,
                .crowd, .own, .polkit, .front, .verdict:
                true
            default: false
            }
        }
    }

    package let kind: Kind
    package let a: Int
    package let b: Int

    package init(_ kind: Kind, _ a: Int = 0, _ b: Int = 0) {
        self.kind = kind
        self.a = a
        self.b = b
    }
}

/// A life of the whole: how it is set up, and what happens in it.
package struct Life: Equatable, Sendable {
    /// What the setup is drawn from.
    package var seed: UInt64
    package var steps: [Step]

    package init(seed: UInt64, steps: [Step]) {
        self.seed = seed
        self.steps = steps
    }

    // MARK: As text

    /// The life as a file has it: a line for each step, so that it can be replayed and cut by hand.
    package var text: String {
        let lines = self.steps.map { "\($0.kind.rawValue) \($0.a) \($0.b)" }
        return (["seed \(self.seed)"] + lines).joined(separator: "\n") + "\n"
    }

    /// Reads such a file; `nil` for anything else. Lines that begin with `#` say nothing.
    package init?(_ text: String) {
        var seed: UInt64?
        var steps: [Step] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            if words.first == "seed", words.count == 2, seed == nil {
                guard let number = UInt64(words[1]) else { return nil }
                seed = number
                continue
            }
            guard seed != nil, words.count == 3, let kind = Step.Kind(rawValue: String(words[0])),
                let a = Int(words[1]), let b = Int(words[2])
            else { return nil }
            steps.append(Step(kind, a, b))
        }
        guard let seed else { return nil }
        self.init(seed: seed, steps: steps)
    }
}
