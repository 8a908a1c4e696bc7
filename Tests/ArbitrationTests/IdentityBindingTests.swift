import Arbitration
import Testing

/// Who is taken for an app of which something outlived its connection.
@Suite struct IdentityBindingTests {
    private static func bound(_ user: UInt32, _ proof: IdentityProof) -> IdentityBinding {
        IdentityBinding(user: user, proof: proof)
    }

    @Test(
        arguments: [
            (bound(7, .name), bound(7, .name), nil), (bound(7, .name), bound(7, .unit), nil),
            (bound(7, .name), bound(7, .flatpak), nil), (bound(7, .name), bound(7, .uid), .proof(.name)),
            (bound(7, .unit), bound(7, .name), .proof(.unit)), (bound(7, .unit), bound(7, .unit), nil),
            (bound(7, .unit), bound(7, .flatpak), nil), (bound(7, .flatpak), bound(7, .unit), .proof(.flatpak)),
            (bound(7, .flatpak), bound(7, .name), .proof(.flatpak)), (bound(7, .flatpak), bound(7, .flatpak), nil),
            (bound(7, .name), bound(8, .name), .user), (bound(7, .name), bound(8, .flatpak), .user),
            (bound(7, .name), bound(0, .flatpak), .user),
        ] as [(IdentityBinding, IdentityBinding, IdentityBinding.Mismatch?)])
    func aWeakerClaimantIsNobody(
        _ binding: IdentityBinding, _ claimant: IdentityBinding, _ mismatch: IdentityBinding.Mismatch?
    ) {
        #expect(binding.mismatch(of: claimant) == mismatch)
    }

    /// Seen once, a stronger proof is asked for from then on.
    @Test func aBindingOnlyGetsStronger() {
        for old in IdentityProof.allCases {
            for new in IdentityProof.allCases {
                let binding = Self.bound(7, old).strengthened(by: Self.bound(7, new))
                #expect(binding == Self.bound(7, max(old, new)))
                #expect((binding.mismatch(of: Self.bound(7, old)) == nil) == (old >= new))
            }
        }
    }
}
