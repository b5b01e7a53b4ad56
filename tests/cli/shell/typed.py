"""A command line typed into a real shell at a terminal, with TAB at its end, and what became of it."""

import os
import pty
import select
import shlex
import signal
import sys
from pathlib import Path
from typing import Final

from kgroup.cli.shell.completion import script_for

ROOT: Final = Path(__file__).parents[3]
_LIMIT_S: Final = 60.0  # of silence: a busy machine starts Python slowly
_SHOWN: Final = "made:"
_READY: Final = "ready for it"

# What Enter runs instead of kgroup: it shows the words. The completion scripts call the program through env.
_SHOW: Final = {
    "bash": f'kgroup() {{ printf "{_SHOWN}%s|" "$*"; echo; }}',
    "zsh": f'kgroup() {{ printf "{_SHOWN}%s|" "$*"; echo }}',
    "fish": f'function kgroup; printf "{_SHOWN}%s|" "$argv"; echo; end',
}
_STARTED: Final = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
_BEFORE: Final = {
    "bash": "bind 'set enable-bracketed-paste off'",
    "zsh": "autoload -Uz compinit; compinit -u -D",
    "fish": "set -g fish_greeting; set -g fish_autosuggestion_enabled 0",
}


def completed(shell: str, line: str, folder: Path) -> str:
    """The words after `kgroup` once TAB has completed `line` in this shell, as Enter runs them.

    `folder` is for the shell's own files. Raises AssertionError with what was on the screen if nothing came.
    """
    script = folder / f"kgroup.{shell}"
    setup = "\n".join((_BEFORE[shell], script_for(shell), _SHOW[shell], r"printf '%s %s\n' ready 'for it'"))
    script.write_text(setup + "\n")
    environment = {
        "PATH": f"{_program(folder)}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PS1": "$ ",
    }
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover (another process)
        os.chdir(ROOT)
        os.execvpe(_STARTED[shell][0], _STARTED[shell], environment)
    try:
        os.write(terminal, f"source {shlex.quote(str(script))}\r".encode())
        _until(terminal, _READY)
        os.write(terminal, f"kgroup {line}\t".encode())
        os.write(terminal, b"\r")
        return _until(terminal, _SHOWN, "|").rpartition(_SHOWN)[2].rpartition("|")[0].strip()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _program(folder: Path) -> Path:
    """A folder with a `kgroup` of this tree, which takes its time for names however busy the machine is."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "kgroup"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from kgroup.cli.shell import complete_names\n"
        f"complete_names._LIMIT_S = {_LIMIT_S}\n"
        "from kgroup.__main__ import main\n"
        "main()\n"
    )
    program.chmod(0o755)
    return programs


def _until(terminal: int, *marks: str) -> str:
    """What the terminal shows up to the last of these, one after the other."""
    shown = ""
    while True:
        at = 0
        for mark in marks:
            at = shown.find(mark, at) + len(mark) if at >= 0 and mark in shown[at:] else -1
        if at >= 0:
            return shown[:at]
        ready, _, _ = select.select([terminal], [], [], _LIMIT_S)
        try:
            said = os.read(terminal, 65536) if ready else b""
        except OSError:  # Linux's end of a terminal
            said = b""
        assert said, f"no {marks} on the screen:\n{shown}"
        shown += said.decode(errors="replace")
