"""Completion where typer's own answers are incomplete.

A shell asks through environment variables that the script of `--show-completion` sets.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kgroup.errors import InputError, nearest_or_all

ASKED: Final = "_KGROUP_COMPLETE"
SHELLS: Final = ("bash", "zsh", "fish", "powershell")
_BASH: Final = "complete_bash"
_ONE_LINE: Final = "10000"  # columns: help of an option must not wrap, since fish takes each line for a word
_BREAKS: Final = (":", "=")  # bash breaks words at these, and says so in COMP_WORDBREAKS


@contextmanager
def answering_a_shell() -> Iterator[None]:
    """Have the environment be as typer needs it, if a shell asks."""
    if ASKED not in os.environ:
        yield
        return
    before = dict(os.environ)
    os.environ["COLUMNS"] = _ONE_LINE
    if os.environ[ASKED] == _BASH:
        given = os.environ["COMP_WORDS"]
        between = "\n" if "\n" in given else " "  # the first of IFS, which typer's script sets
        words, at = whole_words(given.split(between), int(os.environ["COMP_CWORD"]))
        os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = between.join(words), str(at)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def whole_words(broken: Sequence[str], at: int) -> tuple[list[str], int]:
    """The words as they were typed, of those that bash broke at `:` and `=`; `at` is the cursor's.

    `-b`, `kafka`, `:`, `9092` become `-b`, `kafka:9092`.
    """
    words: list[str] = []
    whole_at = at
    for index, part in enumerate(broken):
        continues = part in _BREAKS or (index > 0 and broken[index - 1] in _BREAKS)
        if continues and words:
            words[-1] += part
            whole_at -= index <= at
        else:
            words.append(part)
    return words, whole_at


def script_for(shell: str) -> str:
    """The script with which a shell completes kgroup. Raises InputError for an unknown shell."""
    if shell not in SHELLS:
        raise InputError(f"--show-completion {shell}: {nearest_or_all(shell, SHELLS)}")
    # typer gives it to the shell that runs it only; the function is the one behind its own option.
    from typer._completion_shared import get_completion_script

    return get_completion_script(prog_name="kgroup", complete_var=ASKED, shell=shell)
