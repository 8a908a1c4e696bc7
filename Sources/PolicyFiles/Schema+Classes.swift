import Arbitration
import Motion

extension Schema {
    static let sessionClass: [Key<SessionClass>] = [
        Key(
            "Mixable", .flag, "no",
            "It interrupts nobody, and is interrupted only by classes that name it in Interrupts."
        ) {
            (target, words) throws(ValueProblem) in
            target.isMixable = try Values.flag(words)
        },
        Key("WhenLocked", .word, "continue", "continue, or silence: it is not heard while the screen is locked.") {
            (target, words) throws(ValueProblem) in
            target.whenLocked = try Values.word(words, "behaviour")
        },
        Key(
            "Interrupts", .words, "",
            "The classes that it interrupts, also those that mix; any other that does not mix rejects it. Without it: all "
                + "that do not mix."
        ) { (target, words) throws(ValueProblem) in
            target.interrupts = try Values.plainNames(words)
        },
        Key("Uninterruptible", .flag, "no", "Who would interrupt it is rejected.") {
            (target, words) throws(ValueProblem) in
            target.isUninterruptible = try Values.flag(words)
        },
        Key("RequiresGrant", .words, "", "Modes of which the app must be granted one. Without it: none.") {
            (target, words) throws(ValueProblem) in
            target.requiredGrants = WordSet(try Values.list(words, "mode"))
        },
        Key("Default", .flag, "no", "Whether it is the class of an audio activity that names none.") {
            (target, words) throws(ValueProblem) in
            target.isDefault = try Values.flag(words)
        },
    ]

    static let interaction: [Key<Interaction>] = [
        Key(
            "Action", .word, "concurrent",
            "concurrent: both go on; duck: the holder goes on softly; delay: the requester waits until the holder is done; "
                + "reject: it may not begin."
        ) { (target, words) throws(ValueProblem) in
            target.action = try Values.word(words, "action")
        },
        Key(
            "Duck", .ducking, "10%",
            "How loud a ducked holder may be, and how many events of motions it gets, if not all."
        ) {
            (target, words) throws(ValueProblem) in
            target.ducking = try Values.ducking(words)
        },
    ]
}
