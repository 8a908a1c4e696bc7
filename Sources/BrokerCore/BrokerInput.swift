package import Arbitration
package import Background
package import Motion

/// Everything that can happen to the broker, as values. Each comes with the time at which it arrived.
///
/// The same inputs in the same order give the same actions, live or offline.
package enum BrokerInput: Sendable {
    /// A client of a user registered; the shell has made sure that it owns the name, and read its app file.
    case register(AppHandle, AppID, AppEntrance, user: UInt32)
    /// The client, or the name it registered, left the bus.
    case leave(AppHandle)
    /// These detectors of an app exist also while it is not on the bus, and so does the app; another time, these instead.
    /// Until somebody comes for it it is this user's, or nobody's.
    case install(AppHandle, AppID, AppEntrance, Installation, user: UInt32?)
    /// An app has no file: nothing of it exists any more but what it registers itself while it is on the bus, and it asks for
    /// nothing.
    case uninstall(AppHandle)
    case addDetectors(AppHandle, [DetectorRequest])
    case removeDetectors(AppHandle, [String])
    /// Time to take some detectors of apps that left from their engines.
    case clean
    /// The reader is there and has this sensor.
    case sensorAppeared(SensorDescription)
    /// The reader is gone, and with it every sensor and claim.
    case sensorsLost
    case claim(sensor: String, ClaimNews)
    /// Time to look whether a sensor that should speak has fallen silent.
    case silence
    /// What is in force for our claim changed because of others; or it gets nothing any more, for this reason, or goes on.
    case paceChanged(sensor: String, SensorPace, Resting? = nil)
    case samples(sensor: String, first: UInt64, SampleBlock)
    /// The device itself vibrates, or will: motion says nothing for so long.
    case mute(TimeSpan)
    /// Motion is switched off, or on again.
    case pause(Bool)
    /// An app says that it has an event and all before it, or leaves it to the next.
    case answer(AppHandle, EventName, Answer)
    /// An app wants what is kept for it; `since`: the last event that it is done with.
    case subscribe(AppHandle, since: EventName?)
    /// Another policy is in force; with what was looked up for it while the old one decided.
    case policy(Policy, prepared: PolicySuccession? = nil)
    case life(LifeInput)
    /// Something happened to background work.
    case task(TaskInput)
    /// An app answered to a launch, or could not be launched; or there was no bus to ask for it, or nothing left to call it with.
    case answered(Launch, Answer)
    case failed(Launch, LaunchFailure)
    case postponed(Launch)
    case needless(Launch)
    /// Somebody who may wants an app launched.
    case push(AppID)
    /// Time passed without anything else happening.
    case tick
    /// An event, or a mark, did not go out, because its receiver does not read. `room` follows when it does.
    case unsent(AppHandle, Event)
    case unsentMark(AppHandle, Mark)
    /// A client that did not read has, and so many bytes may be sent to it.
    case room(AppHandle, Int)
    /// What was to be put on the disk is there.
    case persisted(StoredEvent)
    /// What was on the disk when the broker started, by app in the order of its numbers.
    case restored([StoredEvent])
}

/// What an input answers to its sender, who is told at once.
package struct BrokerAnswer {
    /// What is in force for the detectors that were added.
    package var effective: [EffectiveDetector] = []
    /// How many events are kept for the app that subscribed.
    package var kept = 0
    /// What the app that is to be launched is launched for.
    package var wish: LaunchRequest?
}

/// What the broker has to do next, in order.
package enum BrokerAction: Equatable, Sendable {
    /// Claim the sensor at this pace, or change the claim.
    case claim(sensor: String, SensorPace)
    case release(sensor: String)
    /// The detectors of a sensor can fire again, or cannot any more.
    case availability(sensor: String)
    case deliver(AppHandle, Event)
    /// Tell an app, and take back what it holds.
    case life(AppHandle, LifeEffect)
    /// Tell an app how its session stands now.
    case session(AppHandle, SessionEffect)
    case mark(AppHandle, Mark)
    /// Something follows for background work: put it on the disk, or tell its app.
    case task(TaskEffect)
    /// Put an event on the disk, or take it from there.
    case persist(StoredEvent)
    case forget(StoredEvent)
    /// A kept event came to its end. `user`: who may read about it.
    case ended(AppID, user: UInt32, Event, EventEnd)
    /// An app could not be launched for an event that is kept, this time.
    case failed(AppID, user: UInt32, Event, LaunchFailure)
    /// Keep why an app got an event or did not.
    case keep(VerdictRecord)
    /// A clip of a sensor is complete: fetch it with `cutClip`, and keep it.
    case clip(sensor: String)
    /// Call an app, or have it come up for a task; the bus starts it if need be.
    case launch(Launch, Handover)
    /// A launch is over.
    case launchEnded(Launch, LaunchResult)
    /// Nobody is launched for this any more: the last try failed, or its turn never came.
    case launchGivenUp(LaunchRequest, LaunchFailure?)
}

/// Why the broker did not do what a client asked. Nothing of the request was done.
package enum Refusal: Swift.Error, Equatable, Sendable {
    case unknownClient
    /// A limit of `BrokerLimits`, by its name there: whatever else there is, this is too much by itself.
    case limit(name: String, value: UInt64, message: String)
    /// The same of what is divided among users: there is not enough of it left.
    case noRoom(name: String, value: UInt64, message: String)
    case badDetector(String)
    case unknownDetector(String)
    case duplicateDetector(String)
    /// What a source says it sees cannot be.
    case badWindows(String)
    /// Nobody may silence motion for longer.
    case muteTooLong(limit: TimeSpan)
    /// An assertion or activity may not be begun, or nobody launched.
    case life(LifeRefusal)
    /// A task is not taken, or not run.
    case task(TaskRefusal)
    /// There is no such app, on the bus or not.
    case unknownApp(AppID)
    /// The app was started and resumed as often as policy allows; `wait`: until it may be again.
    case wakeQuota(AppID, wait: TimeSpan)
}

extension Refusal {
    /// A limit for all: root crosses the limit itself, everybody else his share of it.
    init(_ name: String, _ shares: UserShares, _ user: UInt32, _ message: String) {
        if user == UserShares.root {
            self = .noRoom(name: name, value: UInt64(shares.limit), message: message)
        } else {
            self = .noRoom(
                name: "\(name)-per-user", value: UInt64(shares.share),
                message: "\(message); your user's share of \(name) is used up")
        }
    }
}
