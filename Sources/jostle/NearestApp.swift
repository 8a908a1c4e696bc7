import DaemonSupport
import Motion
import Protocol

extension Service {
    /// Asks for something that concerns an app. If that fails and there is no such app, it is told which one was probably meant.
    func about<Answer>(
        _ app: String, _ ask: () throws(CommandFailure) -> Answer
    ) throws(CommandFailure) -> Answer {
        do throws(CommandFailure) {
            return try ask()
        } catch {
            guard error.code == .no, let near = self.nearestApp(to: app) else { throw error }
            var failure = error
            failure.message += "; did you mean '\(near)'?"
            throw failure
        }
    }

    /// The app that was probably meant; `nil` when there is one of this id, or none that is like it.
    func nearestApp(to app: String) -> String? {
        // Only advice: whoever cannot list apps goes without it.
        guard !app.isEmpty, let ids = try? self.listApps().map(\.app), !ids.contains(app) else { return nil }
        return Suggestion.nearest(to: app, among: ids.filter { !$0.isEmpty && !$0.hasPrefix(":") })
    }
}
