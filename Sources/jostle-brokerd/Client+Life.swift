import Arbitration
import BrokerCore
import DBus
import Motion
import Protocol

/// The life of an app, as far as it can see it.
extension Client {
    var life: AppLife? { self.service.core.life(self.id) }

    /// Takes in what followed in the app's life.
    func perform(_ effect: LifeEffect) {
        switch effect {
        case .changed:
            self.object?.changed("State", of: AppInterface.table)
            self.object?.changed("StateCause", of: AppInterface.table)
        case .expiring, .assertionEnded, .activityEnded: break
        }
    }
}
