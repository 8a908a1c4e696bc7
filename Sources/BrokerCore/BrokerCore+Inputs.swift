package import Motion

/// What an input answers to its sender.
package enum BrokerAnswer {
    case done
    case effective([EffectiveDetector])
    case refused(Refusal)
}

extension BrokerCore {
    /// The one door for inputs as values: live through the methods behind it, offline through here.
    package mutating func apply(
        _ input: BrokerInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) -> BrokerAnswer {
        do throws(Refusal) {
            switch input {
            case .register(let client, let app, let identity):
                try self.register(client, app, identity, at: arrival, &actions)
            case .leave(let client):
                self.leave(client, at: arrival, &actions)
            case .addDetectors(let client, let requests):
                return .effective(try self.addDetectors(client, requests, at: arrival, &actions))
            case .removeDetectors(let client, let names):
                try self.removeDetectors(client, names, at: arrival, &actions)
            case .sensorAppeared(let sensor):
                self.sensorAppeared(sensor, at: arrival, &actions)
            case .sensorsLost:
                self.sensorsLost(at: arrival, &actions)
            case .claimAnswered(let sensor, let pace):
                self.claimAnswered(sensor, pace, at: arrival)
            case .paceChanged(let sensor, let pace):
                self.paceChanged(sensor, pace, at: arrival)
            case .samples(let sensor, let first, let block):
                self.samples(
                    sensor, first: first, times: block.times.span, values: block.values.span, at: arrival, &actions)
            case .mute(let span):
                try self.mute(for: span, at: arrival)
            case .pause(let isPaused):
                self.pause(isPaused, at: arrival, &actions)
            case .answer(let client, let epoch, let answer):
                try self.answer(client, epoch: epoch, answer, at: arrival, &actions)
            case .policy(let policy):
                self.swap(policy, at: arrival, &actions)
            case .tick:
                self.tick(at: arrival, &actions)
            case .outcome(let client, let delivered):
                self.outcome(client, delivered: delivered)
            }
            return .done
        } catch {
            return .refused(error)
        }
    }
}
