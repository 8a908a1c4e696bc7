#!/usr/bin/python3
"""Types command lines into a shell on a terminal, and prints what they became: complete-line.py SHELL PROGRAMS LINE...

SHELL is bash, zsh or fish, PROGRAMS the folder of those that are asked. Each LINE is typed, the Tab key behind it, and
sent. In the shell functions have the places of `jostle` and `jostle-brokerd`, so that nothing runs, and their words show what came
of the line: for each LINE they are printed as JSON. The shell is in the present directory, and reads nobody's files.
"""

import json
import os
import pathlib
import pty
import select
import signal
import sys
import tempfile
import time

COMPLETIONS = pathlib.Path(__file__).resolve().parents[2] / "Sources" / "completions"
# The last line says that it can be typed into.
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], """
        source {completions}/jostle.bash
        jostle() {{ printf '%s\\0' "$@" > "$WORDS.new"; mv "$WORDS.new" "$WORDS"; }}
        jostle-brokerd() {{ jostle "$@"; }}
        bind 'set bell-style none' 'set enable-bracketed-paste off'
        PS1=rea; PS1+='dy> '
        """),
    "zsh": (["zsh", "-f", "-i"], """
        fpath=({completions} $fpath); autoload -U compinit; compinit -u -D; unsetopt beep
        jostle() {{ printf '%s\\0' "$@" > "$WORDS.new"; mv "$WORDS.new" "$WORDS"; }}
        jostle-brokerd() {{ jostle "$@"; }}
        PROMPT=rea; PROMPT+='dy> '
        """),
    "fish": (["fish", "--no-config", "--interactive"], """
        source {completions}/jostle.fish
        function jostle; printf '%s\\0' $argv > "$WORDS.new"; mv "$WORDS.new" "$WORDS"; end
        function jostle-brokerd; jostle $argv; end
        function fish_prompt; printf '%s%s' rea 'dy> '; end
        """),
}
LONGEST = 60


class Shell:
    def __init__(self, name, programs, scratch):
        command, start = START[name]
        self.words = scratch / "words"
        environment = dict(
            os.environ, HOME=str(scratch), WORDS=str(self.words), TERM="dumb" if name != "fish" else "xterm",
            PATH=f"{programs}:{os.environ['PATH']}", XDG_CONFIG_HOME=str(scratch), HISTFILE="")
        self.heard = b""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], command, environment)
        script = scratch / "start"
        script.write_text(start.format(completions=COMPLETIONS))
        self.type(f"source {script}\r")
        self.until(lambda: b"ready> " in self.heard)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, is_done):
        end = time.monotonic() + LONGEST
        while not is_done():
            if time.monotonic() > end:
                sys.exit(f"the shell says no more than {self.heard[-2000:]!r}")
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    self.heard += os.read(self.terminal, 65536)
                except OSError:
                    sys.exit(f"the shell ended: {self.heard[-2000:]!r}")

    def complete(self, line):
        self.heard = b""
        self.type(line + "\t\r")
        self.until(self.words.exists)
        self.until(lambda: b"ready> " in self.heard)
        words = self.words.read_bytes().split(b"\0")[:-1]
        self.words.unlink()
        return [word.decode() for word in words]

    def end(self):
        # Not reaped before, so that it is nobody else.
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def main():
    name, programs, *lines = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        shell = Shell(name, programs, pathlib.Path(scratch))
        try:
            for line in lines:
                print(json.dumps(shell.complete(line)), flush=True)
        finally:
            shell.end()


main()
