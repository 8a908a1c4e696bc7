#!/usr/bin/env python3
"""Breaks a copy of the source in one way after the other, and sees that the simulator finds each.

usage: mutations.py SOURCE SCRATCH [LIVES [NAME...]]

A patch whose text is not in its file exactly once is a failure: then the source has changed, and the patch must follow.
"""
import os
import shutil
import subprocess
import sys

# Name, file, what stands there, what stands there instead.
MUTATIONS = [
    (
        "omitted-persist",
        "Sources/BrokerCore/EventQueue.swift",
        "        self.store(event, &actions)\n        return (event, false)\n",
        "        return (event, false)\n",
    ),
    (
        "early-acknowledgement",
        "Sources/BrokerCore/EventQueue+Answers.swift",
        "                $0.attempts > 0 && !$0.isCalled && $0.event.sequence <= name.sequence\n"
        "                    && $0.course.isCovered(by: course)\n",
        "                $0.event.sequence <= name.sequence + 1\n"
        "                    && ($0.course.isCovered(by: course) || !$0.isCalled)\n",
    ),
    (
        "late-window",
        "Sources/Arbitration/Contest/Episode.swift",
        "var closes: Timestamp { self.opened + self.configuration.commitWindow }",
        "var closes: Timestamp { self.opened + self.configuration.commitWindow + .milliseconds(40) }",
    ),
    (
        "kept-credit",
        "Sources/DBus/FlowWindow.swift",
        "        self.unconfirmed = self.sincePing\n",
        "        self.unconfirmed = max(self.sincePing, self.unconfirmed)\n",
    ),
    (
        "second-verdict",
        "Sources/BrokerCore/Post.swift",
        "        actions.append(.keep(consume record))\n",
        "        if record.verdict.epoch % 7 == 0 { actions.append(.keep(copy record)) }\n"
        "        actions.append(.keep(consume record))\n",
    ),
    (
        "unbooked-return",
        "Sources/BrokerCore/AbsentApps.swift",
        "        let app = self.apps.remove(at: index)\n        self.book(app.user)\n",
        "        let app = self.apps.remove(at: index)\n",
    ),
    (
        "kept-detector",
        "Sources/BrokerCore/Listeners.swift",
        "        for detector in detectors { self.registry.giveBack(detector) }\n",
        "        for detector in detectors.dropFirst() { self.registry.giveBack(detector) }\n",
    ),
    (
        "early-launch",
        "Sources/Arbitration/Wake/Launches.swift",
        "            for wish in entry.wishes where !entry.isResting(wish.request.user, at: now) {\n",
        "            for wish in entry.wishes {\n",
    ),
    (
        "unspent-launch",
        "Sources/Arbitration/Contest/Ledger.swift",
        "        if isWake { self.spendWake(settings, at: now) }\n",
        "",
    ),
    (
        "launch-of-who-is-there",
        "Sources/Arbitration/Life/Apps.swift",
        "            guard let entry = self[app], entry.facts.state.canReceive else { continue }\n",
        "            guard let entry = self[app], !entry.facts.state.canReceive else { continue }\n",
    ),
    (
        "unanswered-and-left",
        "Sources/BrokerCore/EventQueue+Answers.swift",
        "        self.end(.removed, &actions) { !$0.event.outlivesClient }\n",
        "        self.end(.removed, &actions) { $0.event.terms.kind == .live }\n",
    ),
    (
        "acknowledged-call",
        "Sources/BrokerCore/EventQueue+Answers.swift",
        "                $0.attempts > 0 && !$0.isCalled && $0.event.sequence <= name.sequence\n"
        "                    && $0.course.isCovered(by: course)\n",
        "                $0.attempts > 0 && $0.event.sequence <= name.sequence\n"
        "                    && ($0.course.isCovered(by: course) || $0.attempts > 0)\n",
    ),
    (
        "nobodys-for-good",
        "Sources/BrokerCore/Mailboxes.swift",
        "            effects.append(.forget(StoredEvent(app: id, user: nil, event: event)))\n",
        "            _ = event\n",
    ),
    (
        "nobodys-forgotten-first",
        "Sources/BrokerCore/Mailboxes.swift",
        "        for event in queue.durableEvents where event.sequence > last {\n",
        "        for event in nobodys.durableEvents {\n"
        "            effects.append(.forget(StoredEvent(app: id, user: nil, event: event)))\n"
        "        }\n"
        "        for event in queue.durableEvents where event.sequence > last {\n",
    ),
    (
        "task-before-the-disk",
        "Sources/Background/AppTasks.swift",
        "current.stage == .keeping, current.record.revision == revision else { return }",
        "current.stage == .keeping else { return }",
    ),
    (
        "kept-task",
        "Sources/Background/AppTasks.swift",
        "            effects.append(.forget(self.owner, identifier: identifier))\n        }\n        return nil\n",
        "        }\n        return nil\n",
    ),
    (
        "lost-changes",
        "Sources/Journal/WaitingDue.swift",
        "        taken.merge(self.changes)\n",
        "        taken = self.changes\n",
    ),
    (
        "uncounted-bytes",
        "Sources/BrokerCore/EventQueue.swift",
        "            self.bytes -= oldest.event.bytes\n",
        "",
    ),
    (
        "claim-without-owner",
        "Sources/SensorCore/SensorHub.swift",
        "        guard let position = self.position(of: client) else { return false }\n"
        "        let claim = self.claims.remove(at: position)\n",
        "        guard let position = self.position(of: client), position < self.awake else { return false }\n"
        "        let claim = self.claims.remove(at: position)\n",
    ),
    (
        "untold-hole",
        "Sources/SensorCore/StreamQueue.swift",
        "            guard end.put(gap) else { return false }\n",
        "",
    ),
    (
        "unseen-rest",
        "Sources/SensorCore/SensorClaim.swift",
        "        _ = self.handOver()\n        self.block.leaveGap()\n",
        "        _ = self.handOver()\n",
    ),
    (
        "kept-messages",
        "Sources/SensorCore/SensorHub.swift",
        "            self.messages.giveBack(claim.request.messages, for: user)\n",
        "",
    ),
    (
        "forgotten-asker",
        "Sources/SensorCore/ClaimRounds.swift",
        "        self.subjects[name]?.isHolder = false\n        self.tidy(name)\n",
        "        self.subjects[name]?.isHolder = false\n",
    ),
    (
        "retry-for-nobody",
        "Sources/DeviceCore/DeviceLife.swift",
        "        self.isWanted = false\n        self.nextRetry = nil\n",
        "        self.isWanted = false\n",
    ),
    (
        "untold-end-of-a-device",
        "Sources/DeviceCore/DeviceUse.swift",
        " + [.letGo] + (wasRunning ? [.tellGap] : []) + [.tellChange]",
        " + [.letGo] + (wasRunning ? [] : [.tellGap]) + [.tellChange]",
    ),
    (
        "untold-failure",
        "Sources/DeviceCore/DeviceUse.swift",
        "self.steps(action) + [.tellGap, .tellChange]",
        "self.steps(action) + [.tellChange]",
    ),
    (
        "started-twice",
        "Sources/DeviceCore/DeviceUse.swift",
        "self.isRunning && self.real == nil ? [.start] : []",
        "self.isRunning ? [.start] : []",
    ),
    (
        "skipped-actions",
        "Sources/SensorCore/ActionLine.swift",
        "            self.done = 0\n",
        "",
    ),
    (
        "forgotten-questions",
        "Sources/SensorCore/PolkitLine.swift",
        "        outcome.left = self.line.takeAll()\n",
        "        _ = self.line.takeAll()\n",
    ),
    (
        "kept-place-of-a-question",
        "Sources/SensorCore/PolkitLine.swift",
        "        self.places.giveBack(1, for: asked.user)\n",
        "",
    ),
    (
        "silence-without-end",
        "Sources/SensorCore/PolkitLine.swift",
        "guard let nextTry, nextTry <= now, self.endSilence() else { return nil }",
        "guard let nextTry, nextTry < now, self.endSilence() else { return nil }",
    ),
    (
        "kept-place-of-who-was-refused",
        "Sources/SensorCore/Admissions.swift",
        "        self.refusals.giveBack(1, for: user)\n",
        "        self.refusals.giveBack(0, for: user)\n",
    ),
    (
        "untold-permission",
        "Sources/SensorCore/Admissions.swift",
        "case .allow(let name): self.forget(name) + [.allow(name)]",
        "case .allow(let name): self.forget(name)",
    ),
    (
        "lost-registration",
        "Sources/BrokerCore/App.swift",
        "self.registered.requests.isEmpty ? [self.filed] : [self.filed, self.registered]",
        "[self.filed]",
    ),
    (
        "long-run",
        "Sources/Background/AppTasks.swift",
        "        let ends = now.awake + time\n",
        "        let ends = now.awake + (time + .seconds(1))\n",
    ),
    # What the disk had of it when it was torn is the third.
    (
        "torn-third-run",
        "Sources/Background/AppTasks.swift",
        "        guard record.attempt < Self.mostAttempts else {\n            return effects.append(.forget",
        "        guard record.attempt <= Self.mostAttempts else {\n            return effects.append(.forget",
    ),
]


def copy(source, scratch):
    """Copies what changed, so that what is built there stays."""
    os.makedirs(scratch, exist_ok=True)
    for name in ("Package.swift", "Sources", "Tests", "docs"):
        target = os.path.join(scratch, name)
        if os.path.isdir(target):
            shutil.rmtree(target)
        origin = os.path.join(source, name)
        if os.path.isdir(origin):
            shutil.copytree(origin, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(origin, target)


def build(scratch):
    subprocess.run(
        ["swift", "build", "--product", "soak"], cwd=scratch, check=True, stdout=subprocess.DEVNULL
    )


def play(scratch, lives):
    program = os.path.join(scratch, ".build/debug/soak")
    return subprocess.run([program, "0", str(lives)], stdout=subprocess.PIPE, text=True, check=False)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source, scratch = (os.path.abspath(path) for path in sys.argv[1:3])
    lives = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    names = sys.argv[4:]
    copy(source, scratch)
    failed = []
    for name, path, old, new in MUTATIONS:
        if names and name not in names:
            continue
        file = os.path.join(scratch, path)
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        if text.count(old) != 1:
            sys.exit(f"{name}: {path} does not have this exactly once:\n{old}")
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text.replace(old, new))
        try:
            build(scratch)
            result = play(scratch, lives)
        finally:
            with open(file, "w", encoding="utf-8") as opened:
                opened.write(text)
        if result.returncode == 1:
            first = result.stdout.splitlines()[0]
            steps = sum(1 for line in result.stdout.splitlines() if line and not line.startswith(("#", "seed")))
            print(f"{name}: found, {first}; {steps} steps are left", flush=True)
        else:
            print(f"{name}: NOT FOUND in {lives} lives (code {result.returncode})", flush=True)
            failed.append(name)
    if failed:
        sys.exit("not found: " + ", ".join(failed))


if __name__ == "__main__":
    main()
