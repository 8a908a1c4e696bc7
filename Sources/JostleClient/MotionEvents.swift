/// The events of a client, one after the other.
///
///     for try await event in client.events() { print(event.detector, event.peak) }
///
/// They come while somebody waits for the next one, which takes the place of `run`; the thread is free meanwhile. An event that
/// wants an answer is acknowledged when the next one is asked for, unless `answersByItself` is switched off.
public struct MotionEvents: AsyncSequence {
    /// What comes.
    public typealias Element = MotionEvent
    /// Why no more comes.
    public typealias Failure = JostleError

    let client: JostleApp

    /// The way through them; there is one sequence of events, however many iterators.
    public func makeAsyncIterator() -> Iterator { Iterator(client: self.client) }

    /// Waits for one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let client: JostleApp

        /// The next event; `nil` when the task is cancelled, also where one waits: whoever breaks off all that it does then would be
        /// done with all that waits. That is for the next loop.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(JostleError) -> MotionEvent? {
            self.client.finishGiven()
            while !Task.isCancelled {
                if let event = self.client.nextEvent() { return event }
                try self.client.dispatch()
                if let event = self.client.nextEvent() { return event }
                try await Readiness.wait(for: self.client.descriptor)
            }
            return nil
        }
    }
}
