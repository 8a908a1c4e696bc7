#!/usr/bin/env python3
"""Checks what the commands of `jostle` print with --json: json-types.py COMMAND < lines

Each line has to be an object of one of the command's kinds: these keys, these types, and no others. What is a point in time stands in
`clocks` with the clock it counts on, and nothing else does. Without a command the names of all that are known are printed.
"""
import json
import sys

CLOCKS = {"boottime", "realtime", "trace", "story"}


class Time:
    """A point in time, in whole microseconds of this clock."""

    def __init__(self, clock):
        assert clock in CLOCKS
        self.clock = clock


class Maybe:
    """What may be null."""

    def __init__(self, what):
        self.what = what


class Rest:
    """Any further keys, each with a number."""


BOOT, WALL, TRACE, STORY = Time("boottime"), Time("realtime"), Time("trace"), Time("story")

# A key that ends in "?" may be missing.
DENIAL = {"reason": str, "count": int, "t_us": BOOT, "epoch": int}
STAGE = {"stage": str, "result": str, "seen": str}
EXPLANATION = {
    "delivered": bool, "reason": str, "stages": [STAGE], "otherwise": [str], "rule?": str, "rule_at?": str, "group?": str,
    "mode?": str, "winner?": str, "decided_by?": str, "candidates?": int,
}
TASK = {
    "app?": str, "task": str, "kind": str, "state": str, "earliest_begin_us?": WALL, "latest_begin_us?": WALL, "due_us?": WALL,
    "deadline_us?": BOOT, "idle": bool, "external_power": bool, "discretionary": bool, "attempt?": int, "waits_for": [str],
}
FOCUS = {
    "source": str, "process": int, "front": [str], "first": [str], "visible": [str], "hidden": [str], "playing": [str],
    "frozen": [str], "windows": int, "leaving": bool,
}
APP_ROW = {
    "app": str, "path": str, "state": str, "shown": str, "shown_by": str, "detectors": int, "hits": int, "delivered": int, "denied": int, "dropped": int,
    "expired": int, "redelivered": int, "gaps": int, "unacknowledged": int, "stale_acks": int, "queued_bytes": int,
    "unread_bytes": int, "file": str,
}
HIT = {
    "peak": float, "transition?": str, "distance_m?": float, "filter_m?": float, "stay_us?": int,
}
FATE = {
    "delivered": bool, "reason": str, "rule?": str, "rule_at?": str, "group?": str, "winner?": str, "decided_by?": str,
    "why": [str],
}
DIFFERENCE = {"app": str, "detector": str, "was": FATE, "would_be": FATE}
WORDS = [
    "detector", "clipped", "note", "route", "reason", "rule", "at", "group", "winner", "first", "by", "class", "other", "cell",
    "state", "assertion", "refused", "for", "mode", "change", "hint", "share", "holder", "requester", "launch-reason", "start",
    "result", "again",
]

KINDS = {
    "status": [
        {
            "broker": str, "bus": str, "paused": bool, "locked": bool, "foreground_reported": bool, "foreground": str,
            "focus_sources": [FOCUS], "muted_until_us": BOOT, "policy_generation": int, "policy_files": [str], "durability": str, "journal_written": int,
            "journal_dropped": int, "refused_messages": int,
        },
        {
            "sensor": str, "available": bool, "state": str, "detail": str, "rate": float, "received": int, "lost": int,
            "gaps": int, "refused": int,
        },
        APP_ROW,
        {
            "limit": str, "service": str, "interface?": str, "sensor?": str, "user": Maybe(int), "held": int, "share": Maybe(int),
            "most": int, "of_root?": int,
        },
    ],
    "doctor": [{"area": str, "state": str, "text": str, "mend": [str], "look": [str]}],
    "apps": [APP_ROW],
    "sensors": [{
        "sensor": str, "channels": [str], "values": [float], "unit": str, "range": Maybe(float), "rates": [float],
        "placement": str, "source": str, "simulated": bool, "driver": str, "method": str, "state": str, "detail": str,
        "running": bool, "rate": float, "claims": int, "sent": int, "dropped": int,
        "claimants": [{
            "claimant": str, "stream": Maybe(int), "rate": float, "batch_latency_us": int, "gathering": str, "decimation": str,
            "passive": bool, "resting": str, "sent": int, "dropped": int,
        }],
    }],
    "app": [{
        "app": str, "state": str, "state_cause": str, "state_since_us": BOOT, "identity": str, "usage": str, "app_file": str,
        "durable": bool,
        "grants": [str], "activities": [str],
        "sessions": [{"class": str, "state": str, "share": float, "silenced": bool}],
        "assertions": [{"name": str, "remaining_us?": int}], "background_time_remaining_us?": int, "overruns": int,
        "task_identifiers": [str], "tasks": [TASK],
        "task_outcomes": [{"task": str, "attempt": int, "end": str, "begun_us": WALL, "ended_us": WALL}], "launches": int,
        "launch_failures": int, "last_launch?": {"reason": str, "result": str, "t_us": BOOT}, "detectors": [str], "hits": int,
        "delivered": int, "denied": int, "dropped": int,
        "last_event?": {"detector": str, "t_us": BOOT, "epoch": int, "peak": float}, "denials": [DENIAL],
    }],
    "tasks": [TASK],
    "focus": [{
        "source": str, "window": str, "state": str, "app": str, "known_by": str, "hint": str, "app_id": str, "instance": str,
        "class": str, "gtk_app_id": str, "pid?": int,
    }],
    "top": [{
        "t_us": BOOT, "span_us": int, "paused": bool, "locked": bool, "durability": str, "hits_per_s": float, "events_per_s": float,
        "refused_per_s": float, "queued_bytes": int, "launches": int, "launch_failures": int,
        "sensors": [{"sensor": str, "available": bool, "state": str, "rate": float, "samples_per_s": float}],
        "apps": [{
            "app": str, "path": str, "state": str, "hits": int, "hits_per_s": float, "delivered": int, "events_per_s": float,
            "denied": int, "refused_per_s": float, "dropped": int, "queued_bytes": int, "launches": int, "launch_failures": int,
            "last_refusal": str,
        }],
    }],
    "explain": [
        EXPLANATION | {
            "app": str, "epoch": int, "t_us": BOOT, "made_us?": WALL, "policy_files?": [str], "detector": str, "preset": str,
            "intensity": float, "unit": str, "policy_generation": int,
            "launch_failures?": int, "last_failure?": str, "ended_after_us?": int, "held_by_activity?": int,
            "last_held_us?": BOOT,
        },
        {
            "clip": int, "wall_us": WALL, "app": str, "detector": str, "preset": str, "reach": float,
            "threshold": Maybe(float), "text": [str],
        },
    ],
    "clips list": [{
        "clip": int, "wall_us": WALL, "app": str, "detector": str, "preset": str, "near": bool, "reach": float,
        "threshold": Maybe(float), "sensor": str, "samples": int,
    }],
    "whatif": [
        {
            "clip": int, "wall_us": WALL, "app": str, "detector": str, "was": str, "would_be": str, "reach": float,
        },
        {
            "detector": str, "hits_then": int, "hits": int, "more": int, "fewer": int, "unknown": bool,
            "kept_from": Maybe(float),
        },
    ],
    "why-not": [
        {
            "app": str, "state": str, "registered_us": BOOT, "last_event_us": BOOT, "last_epoch": int, "silence_us": int,
            "muted_until_us": BOOT, "denials": [DENIAL], "launches": int, "launch_failures": int,
            "last_launch?": {"reason": str, "result": str, "t_us": BOOT}, "next_launch_us": BOOT,
            "past_failure?": {"epoch": int, "launch_failures": int, "last_failure": str, "made_us": WALL},
        },
        EXPLANATION | {
            "detector": str, "preset": str, "threshold?": float, "unit": str, "available": bool, "epoch?": int,
            "held_by_activity?": int, "last_held_us?": BOOT,
        },
    ],
    "presets": [{
        "preset": str, "sensor": str, "summary": str, "when_to_use": str, "weaknesses": str, "when?": str, "every_us?": int,
        "rest_us": int, "rest_mode": str, "starts_resting": bool,
        "parameters": [{
            "name": str, "unit": str, "lowest": float, "highest": float, "default": float, "whole": bool, "required": bool,
            "help": str,
        }],
        "sensitivities": [{"word": str, Rest: float}],
    }],
    "watch": [
        {
            "watching": str, "available": bool, "decimation": str, "effective_rate?": float, "every_us?": int, "preset?": str,
            "rest_us": int, "rest_mode": str, "sensor": str, "threshold?": float, "when?": str, "warnings?": [str],
            "count?": int, "within_us?": int, "span_us?": int, "rhythm?": float, "starts_resting?": bool,
        },
        HIT | {
            "detector": str, "sequence": int, "epoch": int, "t_us": BOOT, "delay_us": int, "simulated": bool, "clipped": bool,
            "redelivered": bool,
        },
        {"gap": int, "first": int, "last": int, "dropped": int, "expired": int, "removed": int},
        {"caught_up": int},
    ],
    "policy check": [{
        "file": str, "line": int, "column": int, "severity": str, "id": str, "message": str, "advice": str,
    }],
    "bridge check": [{
        "file": str, "line": int, "column": int, "severity": str, "id": str, "message": str, "advice": str,
    }],
    "policy show": [{
        "section": str, "key": str, "value": str, "places": [{"file": str, "line": int, "column": int}], "user": bool,
    }],
    "policy coverage": [{
        "apps": [str], "state": str, "locked": Maybe(bool), "right": str, "presets": [str], "outcome": str, "outcomes": [str],
        "rules": [str],
    }],
    "policy whatif": [DIFFERENCE | {"wall_us": WALL, "epoch": int}, DIFFERENCE | {"t_us": STORY}],
    "scenario": [
        {
            "time": float, "epoch?": int, "what": str, "app": str, "peak?": float, "answer-by?": float, "until?": float,
            "inherits?": int, "policy?": int,
        } | {f"{word}?": str for word in WORDS}
    ],
    "replay": [
        HIT | {"file": str, "t_us": TRACE, "detector": str, "clipped?": bool, "score?": float},
        {"file": str, "detector": str, "hits": int, "hours": float, "held_by_activity?": int},
    ],
    "teach": [{
        "gesture": str, "file": str, "examples": int, "limit": float,
        "made_motion": {"hits": int, "hours": float, "bound_per_hour": float},
        "negatives?": {"hits": int, "hours": float, "bound_per_hour": float},
        "presets": [{"preset": str, "examples": int}], "beside": [{"gesture": str, "taken": int, "takes": int}],
    }],
    "demo": [
        {
            "policy": str, "shake": str, "app": str, "received": bool, "delay_us": Maybe(int), "reason": Maybe(str),
            "decided_by": Maybe(str),
        },
        {"place": str, "shake": str, "app": str, "right": bool, "detector": str, "received": bool},
        {
            "budget_us": int, "may_renew": bool, "may_play": bool, "renewals": int, "reminders": int,
            "suspended_us": Maybe(int), "disturbed": bool,
        },
        {"t_us": STORY, "what": str},
        {"t_us": TRACE, "distance_m": float, "filter_m": float, "speed": float},
        {"t_us": TRACE, "filter_from_m": float, "filter_to_m": float},
        {"requirement": str, "met": bool, "finding": Maybe(str)},
        {"rule": str, "reports": int, "settings": int, "changes": int, "savings": float},
    ],
}


def problem(value, kind, path):
    """What is wrong with a value, if anything is."""
    if isinstance(kind, Maybe):
        return None if value is None else problem(value, kind.what, path)
    if isinstance(kind, Time):
        kind = int
    if isinstance(kind, list):
        if not isinstance(value, list):
            return f"{path} is no list: {value!r}"
        return next((text for one in value if (text := problem(one, kind[0], f"{path}[]"))), None)
    if isinstance(kind, dict):
        return object_problem(value, kind, path)
    # A truth is an integer to Python, and an integer could be taken for a float.
    return None if type(value) is kind else f"{path} is no {kind.__name__}: {value!r}"


def object_problem(value, kind, path):
    if not isinstance(value, dict):
        return f"{path} is no object: {value!r}"
    known = {name.removesuffix("?"): what for name, what in kind.items() if name is not Rest}
    clocks = value.get("clocks", {})
    times = {name: what.clock for name, what in known.items() if isinstance(what, Time) and name in value}
    if clocks != times:
        return f"{path}: the clocks are {clocks}, not {times}"
    for name in kind:
        if name is not Rest and not name.endswith("?") and name not in value:
            return f"{path} has no '{name}'"
    for name, one in value.items():
        if name == "clocks":
            continue
        if name not in known and Rest not in kind:
            return f"{path} has a '{name}'"
        if text := problem(one, known.get(name, kind.get(Rest)), f"{path}.{name}"):
            return text
    return None


def main():
    if len(sys.argv) == 1:
        print("\n".join(KINDS))
        return
    kinds, lines, met = KINDS[sys.argv[1]], sys.stdin.read().splitlines(), set()
    for line in lines:
        value = json.loads(line, parse_constant=lambda word: sys.exit(f"{word} is no JSON: {line}"))
        problems = [object_problem(value, kind, "line") for kind in kinds]
        if all(problems):
            sys.exit(f"{line}\nis none of these:\n" + "\n".join(problems))
        met.update(index for index, text in enumerate(problems) if not text)
    # How many lines there were, and of which kinds.
    print(len(lines), *sorted(met))


main()
