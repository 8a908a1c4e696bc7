import Arbitration
package import Motion

/// What an input answers to its sender.
package enum BrokerAnswer {
    case done
    case effective([EffectiveDetector])
    /// How many events are kept for the app.
    case kept(Int)
    case refused(Refusal)
}

extension Broker {
    /// The one door for inputs as values: live through the methods behind it, offline through here.
    package mutating func apply(
        _ input: BrokerInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) -> BrokerAnswer {
        do throws(Refusal) {
            switch input {
            case .register(let client, let app, let entrance, let user):
                try self.register(client, app, entrance, user: user, at: arrival, &actions)
            case .leave(let client):
                self.leave(client, at: arrival, &actions)
            case .install(let client, let app, let entrance, let requests, let user):
                try self.install(client, app, entrance, requests, user: user, at: arrival, &actions)
            case .uninstall(let client):
                self.uninstall(client, at: arrival, &actions)
            case .addDetectors(let client, let requests):
                return .effective(try self.addDetectors(client, requests, at: arrival, &actions))
            case .removeDetectors(let client, let names):
                try self.removeDetectors(client, names, at: arrival, &actions)
            case .sensorAppeared(let sensor):
                self.sensorAppeared(sensor, at: arrival, &actions)
            case .sensorsLost:
                self.sensorsLost(at: arrival, &actions)
            case .claimAnswered(let sensor, let pace, let allowed):
                self.claimAnswered(sensor, pace, allowed: allowed, at: arrival, &actions)
            case .claimFailed(let sensor, let reason):
                self.claimFailed(sensor, reason, at: arrival, &actions)
            case .claimEnded(let sensor):
                self.claimEnded(sensor, at: arrival, &actions)
            case .silence:
                self.checkSilence(at: arrival, &actions)
            case .paceChanged(let sensor, let pace):
                self.paceChanged(sensor, pace, at: arrival)
            case .samples(let sensor, let first, let block):
                self.samples(
                    sensor, first: first, times: block.times.span, values: block.values.span, at: arrival, &actions)
            case .mute(let span):
                try self.mute(for: span, at: arrival)
            case .pause(let isPaused):
                self.pause(isPaused, at: arrival, &actions)
            case .answer(let client, let event, let answer):
                try self.answer(client, event, answer, at: arrival, &actions)
            case .subscribe(let client, let since):
                return .kept(try self.subscribe(client, since: since, at: arrival, &actions))
            case .policy(let policy):
                self.swap(policy, at: arrival, &actions)
            case .foreground(let report):
                self.report(report, at: arrival, &actions)
            case .tell(let client, let state):
                try self.tell(client, state, at: arrival, &actions)
            case .locked(let isLocked):
                self.lock(isLocked, at: arrival, &actions)
            case .clock(let minute):
                self.clock(minute, at: arrival, &actions)
            case .sleep(let begins):
                self.sleep(begins, at: arrival, &actions)
            case .beginAssertion(let client, let request):
                try self.begin(request, of: client, at: arrival, &actions)
            case .endAssertion(let client, let id):
                self.end(id, of: client, at: arrival, &actions)
            case .beginActivity(let client, let id, let mode, let session):
                try self.begin(id, mode, session, of: client, at: arrival, &actions)
            case .endActivity(let client, let id):
                self.end(id, of: client, at: arrival, &actions)
            case .task(let input):
                try self.task(input, at: arrival, &actions)
            case .answered(let launch, let answer):
                self.answered(launch, answer, at: arrival, &actions)
            case .failed(let launch, let failure):
                self.failed(launch, failure, at: arrival, &actions)
            case .push(let app):
                try self.push(app, at: arrival, &actions)
            case .tick:
                self.tick(at: arrival, &actions)
            case .sent(let client, let event): self.sent(client, event)
            case .sentMark(let client, let mark): self.sent(client, mark)
            case .unsent(let client, let event): self.unsent(client, event, at: arrival, &actions)
            case .unsentMark(let client, let mark): self.unsent(client, mark, &actions)
            case .room(let client, let bytes): self.room(client, bytes, at: arrival, &actions)
            case .persisted(let event): self.persisted(event)
            case .restored(let events): self.restore(events, at: arrival, &actions)
            }
            return .done
        } catch {
            return .refused(error)
        }
    }
}
