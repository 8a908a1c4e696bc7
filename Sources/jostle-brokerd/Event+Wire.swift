import BrokerCore
import Protocol

extension Event {
    /// The event as it travels.
    var body: EventCodec.Body {
        var body = EventCodec.Body(
            sequence: self.sequence, epoch: self.epoch, time: self.time, detector: self.detector, peak: self.peak,
            generation: self.generation, isSimulated: self.isSimulated, isClipped: self.isClipped)
        body.note = self.note
        body.wantsAck = self.wantsAck
        body.answerBy = self.answerBy
        body.isRedelivered = self.isRedelivered
        body.isPersistent = self.isPersistent
        return body
    }
}
