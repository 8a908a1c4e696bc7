import DetectionModel
import Motion
import Testing

@testable import Detection
import Randomness

/// What is detected of where the device is.
@Suite struct LocationTests {
    private struct Step {
        var speed: Double
        var seconds: Int
        /// The fixes are this far apart in time.
        var every = 1.0
    }

    /// A way to the east in steps of one speed each, as a receiver tells it.
    private func way(_ steps: [Step], from start: (Double, Double) = (46, 14), accuracy: Double = 5) throws
        -> SampleBlock
    {
        var place = try #require(Position(latitude: start.0, longitude: start.1))
        var block = SampleBlock(channels: 5)
        var time = 10.0
        for step in steps {
            for _ in 0..<step.seconds {
                block.append(
                    Timestamp(microseconds: Int64((time * 1_000_000).rounded())),
                    [place.latitude, place.longitude, step.speed, 90, accuracy])
                place = place.moved(north: 0, east: step.speed * step.every)
                time += step.every
            }
        }
        return block
    }

    /// A random journey: rests, walks, rides, turns, jumps and pauses.
    private func journey(_ seed: UInt64) throws -> SampleBlock {
        var random = SeededRandom(seed: seed)
        var place = try #require(
            Position(
                latitude: random.uniform(-89.9...89.9),
                longitude: random.chance(0.5) ? 179.999 : random.uniform(-180...180)))
        var block = SampleBlock(channels: 5)
        var time: Int64 = 1_000_000
        var (speed, north, east) = (0.0, 0.0, 0.0)
        for _ in 0..<1_500 {
            if random.chance(0.03) {
                speed = random.chance(0.3) ? 0 : random.uniform(0...40)
                (north, east) = (random.uniform(-1...1), random.uniform(-1...1))
            }
            let wanted = random.chance(0.1) ? speed * random.uniform(0.8...1.2) : speed
            block.append(
                Timestamp(microseconds: time), [place.latitude, place.longitude, wanted, 0, random.uniform(3...60)])
            let elapsed = random.chance(0.01) ? random.uniform(1...1_500) : random.uniform(0.9...1.1)
            place = place.moved(north: north * wanted * elapsed, east: east * wanted * elapsed)
            time += Int64(elapsed * 1_000_000)
        }
        return block
    }

    private func run(_ block: SampleBlock, _ detectors: [CompiledDetector]) -> [Hit] {
        var engine = DetectionEngine(
            channels: SensorDescription.channels(of: "location"), gap: SensorLimits.gap(of: "location"))
        for (index, detector) in detectors.enumerated() {
            engine.add(detector, as: DetectorID(UInt32(index)), at: .zero)
        }
        return engine.run(block)
    }

    private func run(
        _ block: SampleBlock, _ name: String, _ options: [String: OptionValue] = [:]
    ) throws -> [Hit] {
        self.run(block, [try preset(name, options)])
    }

    private func places(_ block: SampleBlock) -> [(time: Int64, place: Position, speed: Double, accuracy: Double)] {
        (0..<block.count).compactMap { row in
            let values = Array(block.values[row * 5..<row * 5 + 5])
            return Position(latitude: values[0], longitude: values[1]).map {
                (block.times[row], $0, values[2], values[4])
            }
        }
    }

    private func filters(_ hits: [Hit]) -> [Int] { hits.map { Int($0.note.filter ?? -1) } }

    // MARK: The article's filter

    /// The rule as the article has it, with a list of what it did.
    private func plainAdaptive(_ block: SampleBlock) -> [Hit] {
        var hits: [Hit] = []
        var distanceFilter = 50.0
        var wasSet = false
        var last: Position?
        for fix in self.places(block) {
            var isSet = false
            if fix.speed < 3 {
                if abs(distanceFilter - 50) > 0.1 {
                    distanceFilter = 50
                    isSet = true
                }
            } else {
                let s = distanceFilter / 10
                if abs(s - fix.speed) / s > 0.1 || s < 0 {
                    distanceFilter = Double(Int(fix.speed + 0.5) * 10)
                    isSet = true
                }
            }
            let distance = last?.distance(to: fix.place)
            if wasSet || distance == nil || (distance ?? 0) >= distanceFilter {
                hits.append(
                    Hit(
                        detector: DetectorID(0), time: Timestamp(microseconds: fix.time), peak: distance ?? 0,
                        note: HitNote(.movedThrough(filter: Int(distanceFilter)))))
                last = fix.place
            }
            wasSet = isSet
        }
        return hits
    }

    @Test(arguments: Array(UInt64(1)...20))
    func adaptiveIsTheArticlesRule(_ seed: UInt64) throws {
        let block = try self.journey(seed)
        let expected = self.plainAdaptive(block)
        #expect(try self.run(block, "location.adaptive") == expected, "seed \(seed)")
        #expect(expected.count > 20, "seed \(seed)")
    }

    /// The step the wrong way: 50 m below 3 m/s, 30 m at 3, and 50 m again at 5.
    @Test(arguments: [(0.0, 50), (1.4, 50), (2.9, 50), (3.0, 30), (4.0, 40), (5.0, 50), (8.0, 80), (30.0, 300)])
    func theFilterOfASpeed(_ speed: Double, _ filter: Int) throws {
        var adaptive = AdaptiveFilter()
        _ = adaptive.adjust(to: speed)
        #expect(Int(adaptive.metres) == filter)
        // Nothing is set again then, and reports come a filter apart.
        let hits = try self.run(self.way([Step(speed: speed, seconds: 300)]), "location.adaptive")
        let later = hits.dropFirst(2)
        #expect(self.filters(Array(later)) == later.map { _ in filter })
        #expect(later.allSatisfy { $0.peak >= Double(filter) - 0.01 && $0.peak < Double(filter) + speed + 0.01 })
        // A filter that is set as the journey begins makes the second fix report, too.
        let metres = speed * 299
        #expect(Double(hits.count) <= metres / Double(filter) + 2)
        #expect(Double(hits.count) >= metres / (Double(filter) + speed))
    }

    /// There the filter that follows is off by more than a tenth again, so it is set at each fix, and each fix reports.
    @Test(arguments: [(3.34, 30), (3.4, 30), (3.49, 30), (3.5, 40), (3.55, 40), (4.41, 40), (4.45, 40), (4.49, 40)])
    func whereTheFilterIsSetAtEachFix(_ speed: Double, _ filter: Int) throws {
        let block = try self.way([Step(speed: speed, seconds: 60)])
        let hits = try self.run(block, "location.adaptive")
        #expect(hits.count == 60)
        #expect(self.filters(hits).dropFirst().allSatisfy { $0 == filter })
        // Each says its own distance, though the condition stays true.
        #expect(hits.dropFirst().allSatisfy { abs($0.peak - speed) < 0.01 })
    }

    @Test(arguments: [3.0, 3.29, 3.61, 3.7, 4.0, 4.39, 4.51, 5.0])
    func whereItIsNot(_ speed: Double) throws {
        let hits = try self.run(self.way([Step(speed: speed, seconds: 60)]), "location.adaptive")
        #expect(hits.count < 10)
    }

    /// With smoothing there is no step the wrong way, and nothing is set again and again.
    @Test func smoothingCuresBoth() throws {
        var last = 0.0
        for step in 0...400 {
            let speed = Double(step) / 10
            var filter = AdaptiveFilter(smoothing: 0.25)
            _ = filter.adjust(to: speed)
            #expect(filter.metres >= last && filter.metres >= 50, "\(speed)")
            let isSetAgain = filter.adjust(to: speed)
            #expect(!isSetAgain, "\(speed)")
            last = filter.metres
        }
        for speed in [2.9, 3.0, 3.4, 3.55, 4.45] {
            let hits = try self.run(
                self.way([Step(speed: speed, seconds: 120)]), "location.adaptive", ["smoothing": .text("25%")])
            #expect(hits.count <= Int(speed * 120 / 50) + 1, "\(speed)")
            #expect(self.filters(hits).allSatisfy { $0 == 50 })
        }
        // A change of speed is followed all the same.
        let hits = try self.run(
            self.way([Step(speed: 2, seconds: 60), Step(speed: 20, seconds: 60)]), "location.adaptive",
            ["smoothing": .number(0.25)])
        #expect(self.filters(hits).last == 200)
    }

    @Test func aStandstillIsSilentAndAPauseForgetsNothing() throws {
        let still = try self.run(self.way([Step(speed: 0, seconds: 3_600)]), "location.adaptive")
        #expect(still.map(\.time) == [Timestamp(microseconds: 10_000_000)])
        // Half an hour without a fix, and then 40 m further on: nothing to report.
        var block = try self.way([Step(speed: 0, seconds: 5)])
        let further = try #require(Position(latitude: 46, longitude: 14)).moved(north: 40, east: 0)
        block.append(Timestamp(microseconds: 1_800_000_000), [further.latitude, further.longitude, 0, 0, 5])
        #expect(try self.run(block, "location.adaptive").count == 1)
        let far = try #require(Position(latitude: 46, longitude: 14)).moved(north: 60, east: 0)
        block.append(Timestamp(microseconds: 3_600_000_000), [far.latitude, far.longitude, 0, 0, 5])
        let hits = try self.run(block, "location.adaptive")
        #expect(hits.count == 2 && abs((hits.last?.peak ?? 0) - 60) < 0.01)
    }

    // MARK: Distance, visits, geofences

    @Test(arguments: Array(UInt64(1)...10))
    func distanceIsTheWaySinceTheLastHit(_ seed: UInt64) throws {
        let block = try self.journey(seed)
        var expected: [Hit] = []
        var last: Position?
        for fix in self.places(block) where last.map({ $0.distance(to: fix.place) >= 250 }) ?? true {
            expected.append(
                Hit(
                    detector: DetectorID(0), time: Timestamp(microseconds: fix.time),
                    peak: last?.distance(to: fix.place) ?? 0, note: HitNote(.moved)))
            last = fix.place
        }
        #expect(try self.run(block, "location.distance", ["distance": .text("250m")]) == expected, "seed \(seed)")
    }

    @Test(arguments: Array(UInt64(1)...10))
    func visitsBeginAndEndInTurn(_ seed: UInt64) throws {
        let block = try self.journey(seed)
        var expected: [Hit] = []
        var stay: (place: Position, since: Int64, isVisit: Bool)?
        for fix in self.places(block) {
            func add(_ meaning: HitNote.Meaning, _ since: Int64) {
                expected.append(
                    Hit(
                        detector: DetectorID(0), time: Timestamp(microseconds: fix.time),
                        peak: Double(fix.time - since) / 1_000_000, note: HitNote(meaning)))
            }
            if let known = stay, known.place.distance(to: fix.place) <= 80 + fix.accuracy {
                if !known.isVisit, fix.time - known.since >= 30_000_000 {
                    add(.arrived, known.since)
                    stay?.isVisit = true
                }
            } else {
                if let known = stay, known.isVisit { add(.departed, known.since) }
                stay = (fix.place, fix.time, false)
            }
        }
        let hits = try self.run(block, "location.visit", ["radius": .text("80m"), "for": .text("30s")])
        #expect(hits == expected, "seed \(seed)")
        #expect(!hits.isEmpty, "seed \(seed)")
        let words = hits.compactMap(\.note.transition)
        #expect(zip(words, words.dropFirst()).allSatisfy { $0 != $1 } && words.first == "arrive")
    }

    @Test(arguments: someSeeds(1...10))
    func geofencesAreEnteredAndLeftInTurn(_ seed: UInt64) throws {
        let block = try self.journey(seed)
        let places = self.places(block)
        var random = SeededRandom(seed: seed &+ 100)
        var detectors: [CompiledDetector] = []
        var expected: [Hit] = []
        for index in 0..<300 {
            let place = places[Int(random.uniform(0...1) * Double(places.count - 1))].place
            let centre = place.moved(north: random.uniform(-300...300), east: random.uniform(-300...300))
            let radius = random.uniform(20...400)
            detectors.append(
                try preset(
                    "geofence",
                    [
                        "latitude": .number(centre.latitude), "longitude": .number(centre.longitude),
                        "radius": .number(radius),
                    ]))
            var isInside = false
            for fix in places {
                let distance = centre.distance(to: fix.place)
                let turns =
                    isInside ? distance > radius + fix.accuracy : distance < radius - min(fix.accuracy, radius / 2)
                guard turns else { continue }
                isInside.toggle()
                expected.append(
                    Hit(
                        detector: DetectorID(UInt32(index)), time: Timestamp(microseconds: fix.time), peak: distance,
                        note: HitNote(isInside ? .entered : .left)))
            }
        }
        expected.sort { ($0.time, $0.detector) < ($1.time, $1.detector) }
        #expect(self.run(block, detectors) == expected, "seed \(seed)")
        #expect(expected.count > 300, "seed \(seed)")
    }

    /// At its edge one neither comes nor goes, as long as the fixes are no better than that.
    @Test func theEdgeOfAGeofenceIsAsWideAsTheAccuracy() throws {
        let centre = try #require(Position(latitude: -17, longitude: 179.9999))
        func hits(_ distances: [Double], accuracy: Double) throws -> [String] {
            var block = SampleBlock(channels: 5)
            for (index, distance) in distances.enumerated() {
                let place = centre.moved(north: 0, east: distance)
                block.append(
                    Timestamp(microseconds: Int64(index) * 1_000_000),
                    [place.latitude, place.longitude, 0, 0, accuracy])
            }
            return try self.run(
                block, "geofence",
                ["latitude": .text("-17deg"), "longitude": .number(179.9999), "radius": .number(100)]
            ).compactMap(\.note.transition)
        }
        let edge = [300.0, 99, 101, 95, 105, 90.1, 109, 99, 101]
        #expect(try hits(edge, accuracy: 10) == [])
        #expect(try hits(edge + [89.9] + edge.dropFirst() + [110.1], accuracy: 10) == ["enter", "leave"])
        #expect(try hits(edge, accuracy: 0).count == 8)
        // A fix that may be anywhere says nothing, but in the very middle one is there.
        #expect(try hits([300, 60, 40, 700, 901], accuracy: 800) == ["enter", "leave"])
        // Who begins inside enters.
        #expect(try hits([0, 1], accuracy: 5) == ["enter"])
    }

    /// Equal detectors are evaluated once; who joins later is told how things stand, and the others hear nothing of it.
    @Test(arguments: [1, 7, 64, 1_000])
    func whoJoinsIsToldHowThingsStand(batch: Int) throws {
        let centre = try #require(Position(latitude: 46, longitude: 14))
        // In for a minute, out, and in again.
        var block = SampleBlock(channels: 5)
        for second in 0..<180 {
            let place = centre.moved(north: 0, east: second / 60 == 1 ? 500 + Double(second) * 30 : Double(second % 60))
            block.append(
                Timestamp(microseconds: Int64(second) * 1_000_000), [place.latitude, place.longitude, 0, 0, 5])
        }
        let kinds: [(String, [String: OptionValue])] = [
            ("geofence", ["latitude": .number(46), "longitude": .number(14)]),
            ("location.visit", ["radius": .number(100), "for": .text("10s")]),
            ("location.distance", ["distance": .number(200)]), ("location.adaptive", [:]),
        ]
        // Who joins, by the row before which it does; the first of each kind are there from the beginning.
        let joins = [0, 0, 0, 0] + [30, 60, 61, 70, 119, 120, 150].flatMap { [$0, $0, $0, $0] }
        var engine = DetectionEngine(
            channels: SensorDescription.channels(of: "location"), gap: SensorLimits.gap(of: "location"))
        var hits: [Hit] = []
        var row = 0
        while row < block.count {
            for (index, join) in joins.enumerated() where join == row {
                let (name, options) = kinds[index % 4]
                engine.add(try preset(name, options), as: DetectorID(UInt32(index)), at: .zero)
            }
            let next = min(row + batch, joins.filter { $0 > row }.min() ?? .max, block.count)
            engine.process(
                times: block.times.span.extracting(row..<next),
                values: block.values.span.extracting(row * 5..<next * 5), hits: &hits)
            row = next
        }
        func told(_ index: Int) -> [String] {
            hits.filter { $0.detector == DetectorID(UInt32(index)) }.map {
                "\($0.time.microseconds / 1_000_000) \($0.note.transition ?? "moved") \(Int($0.peak.rounded()))"
            }
        }
        #expect(told(0) == ["0 enter 0", "60 leave 2300", "120 enter 0"])
        #expect(told(1) == ["10 arrive 10", "60 depart 60", "130 arrive 10"])
        for (index, join) in joins.enumerated().dropFirst(4) {
            let shared = told(index % 4)
            let own = told(index)
            // From its second fix on it hears what all hear.
            #expect(
                own.filter { !$0.hasPrefix("\(join) ") } == shared.filter { Int($0.prefix { $0 != " " }) ?? 0 > join })
            let first = own.first { $0.hasPrefix("\(join) ") }
            switch index % 4 {
            case 0: #expect(first == (join / 60 == 1 ? nil : "\(join) enter \(join % 60)"))
            case 1:
                let stay = join % 60 >= 10 && join / 60 != 1 ? join % 60 : nil
                #expect(first == stay.map { "\(join) arrive \($0)" })
            default:
                let alone = shared.first { $0.hasPrefix("\(join) ") }
                #expect(first == alone ?? "\(join) moved 0")
            }
        }
    }

    @Test func aGeofenceNeedsItsPlace() throws {
        func problem(_ options: [String: OptionValue]) -> String? {
            var options = options
            options["preset"] = .text("geofence")
            do throws(DetectorProblem) {
                _ = try DetectorCompiler.compile(DetectorRequest(name: "home", options: options), for: nil)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(problem([:]) == "'geofence' needs 'latitude'")
        #expect(problem(["latitude": .number(3)]) == "'geofence' needs 'longitude'")
        #expect(problem(["latitude": .number(3), "longitude": .text("14.25")]) == nil)
        #expect(
            problem(["latitude": .number(91), "longitude": .number(0)]) == "91.0deg is outside -90.0deg to 90.0deg")
        #expect(
            problem(["latitude": .text("3m"), "longitude": .number(0)]) == "expected an angle in deg, found a length")
        // What is in force can be asked for again.
        let compiled = try preset("geofence", ["latitude": .text("46.0569deg"), "longitude": .text("14.5058")])
        let again = Dictionary(uniqueKeysWithValues: compiled.effective.map { ($0.key, $0.value) })
        #expect(again["latitude"] == .number(46.0569) && again["longitude"] == .number(14.5058))
        let same = try DetectorCompiler.compile(DetectorRequest(name: "d", options: again), for: nil)
        #expect(same.condition == compiled.condition)
    }

    /// A place that is none moves nobody, and lets no filter fall over.
    @Test func whatIsNotOnEarthIsPassedOver() throws {
        var block = try self.way([Step(speed: 1, seconds: 3)])
        block.append(Timestamp(microseconds: 20_000_000), [95, 14, 1, 0, 5])
        block.append(Timestamp(microseconds: 21_000_000), [46, -300, 1e308, 0, 5])
        block.append(Timestamp(microseconds: 22_000_000), [46, 14, 1e308, 0, 1e308])
        for item in PresetCatalogue.all where item.sensor == "location" {
            let hits = try self.run(block, item.name)
            #expect(hits.allSatisfy { $0.time.microseconds < 20_000_000 || $0.time.microseconds == 22_000_000 })
        }
    }

    @Test func eachHitOfOneFixSaysItsOwn() throws {
        let block = try self.way([Step(speed: 30, seconds: 40)])
        let hits = self.run(
            block,
            [
                try preset("location.distance", ["distance": .number(100)]), try preset("location.adaptive"),
                try preset("geofence", ["latitude": .number(46), "longitude": .number(14), "radius": .number(50)]),
                try detector("speed > 1m/s", ["sensor": .text("location"), "rest-mode": .text("none")]),
            ])
        let first = hits.filter { $0.time.microseconds == 10_000_000 }
        #expect(first.map(\.note.meaning) == [.moved, .movedThrough(filter: 300), .entered, .nothing])
        #expect(first.map(\.peak) == [0, 0, 0, 30])
        let fourth = hits.filter { $0.time.microseconds == 14_000_000 }
        #expect(
            fourth.map(\.note.meaning) == [.moved, .left, .nothing] || fourth.map(\.note.meaning) == [.moved, .nothing])
    }

    // MARK: The language

    @Test func conditionsSpeakOfPlacesInDegrees() throws {
        let block = try self.way([Step(speed: 10, seconds: 100)])
        func hits(_ condition: String) throws -> [Hit] {
            self.run(
                block, [try detector(condition, ["sensor": .text("location"), "rest-mode": .text("restarting")])])
        }
        #expect(try hits("latitude > 45.9deg and latitude < 0.81rad").count == 1)
        #expect(try hits("latitude < 45.9deg").isEmpty)
        #expect(try hits("course > 89deg and course < 91deg and accuracy < 6m").count == 1)
        #expect(try hits("speed > 35km/h and speed < 10.1m/s").map(\.peak) == [10])
        #expect(try hits("held(speed > 5m/s, 90s)").map(\.time) == [Timestamp(microseconds: 100_000_000)])
        #expect(throws: DetectorProblem.self) { try hits("speed > 5m") }
        #expect(throws: DetectorProblem.self) { try hits("latitude > 45") }
        #expect(throws: DetectorProblem.self) { try hits("latitude > longitude + speed") }
    }

    /// Fixes may be minutes apart: that is no gap, and what looks back does so over them.
    @Test func fixesMayBeMinutesApart() throws {
        let block = try self.way([Step(speed: 0, seconds: 6, every: 120)])
        let hits = self.run(
            block,
            [
                try detector(
                    "held(speed < 1m/s, 5min)",
                    ["sensor": .text("location"), "rest": .text("1h"), "rest-mode": .text("restarting")])
            ])
        #expect(hits.map(\.time) == [Timestamp(microseconds: 370_000_000)])
        let gaps = try self.way([Step(speed: 0, seconds: 6, every: 601)])
        #expect(
            self.run(gaps, [try detector("held(speed < 1m/s, 5min)", ["sensor": .text("location")])]).isEmpty)
    }

    @Test func aReceiverIsAskedForAFixASecond() throws {
        let sensor = SensorDescription(
            name: "location", channels: SensorDescription.channels(of: "location"),
            unit: SensorDescription.locationUnits,
            rates: [], source: "gpsd", isSimulated: false)
        let adaptive = try preset("location.adaptive", for: sensor)
        #expect(adaptive.neededRate == 1)
        #expect(adaptive.warnings.isEmpty)
    }
}
