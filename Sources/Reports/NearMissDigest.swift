/// What nearly was a hit in a time, counted up; the newest of it are kept one by one.
package struct NearMissDigest: Sendable {
    /// Those of one detector, as it was then.
    package struct Kind: Hashable, Sendable {
        package var app: DayDigest.App
        package var detector: String
        package var threshold: Double?
    }

    package struct Tally: Sendable {
        package var times = 0
        /// When it was last, in µs of the wall clock.
        package var last: Int64 = 0
        /// Of what its threshold is.
        package var unit = ""

        fileprivate mutating func add(_ miss: DayPage.NearMiss) {
            self.times += 1
            self.last = max(self.last, miss.wall)
            self.unit = miss.unit
        }
    }

    package struct Part: Sendable {
        package var times = 0
        /// The newest clip that has one of them.
        package var clip: Int64 = 0
    }

    private let since: Int64
    private let until: Int64
    package private(set) var times = 0
    package private(set) var kinds: [Kind: Tally] = [:]
    package private(set) var parts: [Part]
    /// The newest first, once there are no more.
    package private(set) var misses: [DayPage.NearMiss] = []
    /// Of further detectors than this the others are counted only: a page of them would be read by nobody.
    private static let mostKinds = 4_096
    package private(set) var leftOut = 0

    /// So many are kept one by one.
    package static let mostKept = 16_384

    package init(since: Int64, until: Int64) {
        self.since = since
        self.until = max(until, since + 1)
        self.parts = Array(repeating: Part(), count: DayDigest.partCount)
    }

    package mutating func add(_ miss: DayPage.NearMiss) {
        self.times += 1
        let part = DayDigest.part(miss.wall, of: DayDigest.partCount, from: self.since, to: self.until)
        self.parts[part].times += 1
        self.parts[part].clip = max(self.parts[part].clip, miss.clip)
        let kind = miss.kind
        if self.kinds.count >= Self.mostKinds, self.kinds[kind] == nil {
            self.leftOut += 1
        } else {
            self.kinds[kind, default: Tally()].add(miss)
        }
        self.misses.append(miss)
        if self.misses.count >= 2 * Self.mostKept { self.sort() }
    }

    /// There is no more.
    package mutating func finish() { self.sort() }

    /// Has the newest of them drawn, so many at most.
    package mutating func draw(_ most: Int, _ curve: (DayPage.NearMiss) -> DayPage.NearMiss.Curve?) {
        for index in self.misses.indices.prefix(most) { self.misses[index].curve = curve(self.misses[index]) }
    }

    private mutating func sort() {
        self.misses.sort { ($0.wall, $0.number) > ($1.wall, $1.number) }
        self.misses.removeLast(max(0, self.misses.count - Self.mostKept))
    }
}

extension DayPage {
    /// Something that nearly was a hit.
    package struct NearMiss: Sendable {
        /// What it compared, along the clip.
        package struct Curve: Sendable {
            package var title: String
            /// In seconds from the beginning of the clip.
            package var points: [(time: Double, value: Double)]

            package init(_ title: String, _ points: [(time: Double, value: Double)]) {
                self.title = title
                self.points = points
            }
        }

        /// Its place among all, in the order of the journal.
        package var number: Int
        package var wall: Int64
        package var clip: Int64
        package var app: String
        package var user: Int64
        package var detector: String
        package var threshold: Double?
        package var unit: String
        /// How far it went, such as `2.1 g`, and of what: `2.1 g of 2.3 g`.
        package var reach: String
        package var strength: String
        package var lines: [String]
        /// In seconds from the beginning of the clip.
        package var moment: Double
        /// `nil`: it is not drawn.
        package var curve: Curve?

        package init(
            number: Int, wall: Int64, clip: Int64, app: String, user: Int64, detector: String, threshold: Double?,
            unit: String, reach: String, strength: String, lines: [String], moment: Double
        ) {
            self.number = number
            self.wall = wall
            self.clip = clip
            self.app = app
            self.user = user
            self.detector = detector
            self.threshold = threshold
            self.unit = unit
            self.reach = reach
            self.strength = strength
            self.lines = lines
            self.moment = moment
        }

        var kind: NearMissDigest.Kind {
            NearMissDigest.Kind(
                app: DayDigest.App(self.app, self.user), detector: self.detector, threshold: self.threshold)
        }
    }

    /// Of so many the motion is drawn, where the page has room for them: the newest.
    package static let drawnNear = 100
}
