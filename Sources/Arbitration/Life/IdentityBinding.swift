/// Whose what outlives an app's connection is: a user's, and as well proven as it ever was.
package struct IdentityBinding: Equatable, Sendable {
    package var user: UInt32
    /// The strongest proof seen.
    package var proof: IdentityProof

    package init(user: UInt32, proof: IdentityProof) {
        self.user = user
        self.proof = proof
    }

    /// Why somebody who has the app's name is not taken for the app.
    package enum Mismatch: Equatable, Sendable {
        /// It is another user's.
        case user
        /// It was once proven better.
        case proof(IdentityProof)
    }

    /// Whether a claimant is the app; `nil`: it is.
    package func mismatch(of claimant: IdentityBinding) -> Mismatch? {
        if claimant.user != self.user { return .user }
        return claimant.proof < self.proof ? .proof(self.proof) : nil
    }

    /// The binding once the claimant is taken for the app: what was proven once is asked for from then on.
    package func strengthened(by claimant: IdentityBinding) -> IdentityBinding {
        IdentityBinding(user: self.user, proof: max(self.proof, claimant.proof))
    }
}
