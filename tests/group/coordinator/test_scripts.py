"""Plays `scripts/*.txt`; `pytest --rewrite-scripts` writes the answers, and the diff is what you review."""

from pathlib import Path

import pytest

from kgroup.group.coordinator.settings import GroupSettings
from tests.group.coordinator.script import ScriptWorld

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))


def played(text: str) -> str:
    """The script with the answers that it gets now. `settings name=value` may come first."""
    world = ScriptWorld()
    blocks = []
    for block in text.strip().split("\n\n"):
        comments = [line for line in block.splitlines() if line.startswith("#")]
        commands = [line for line in block.split("\n----")[0].splitlines() if not line.startswith("#")]
        answers: list[str] = []
        for command in commands:
            if command.startswith("settings "):
                settings = dict(word.split("=") for word in command.split()[1:])
                world = ScriptWorld(GroupSettings(**{name: int(value) for name, value in settings.items()}))
                continue
            answers += world.run(command)
        lines = [*comments, *commands]
        if commands and not all(command.startswith("settings ") for command in commands):
            lines += ["----", *answers]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_script(script: Path, request: pytest.FixtureRequest) -> None:
    text = script.read_text()
    if request.config.getoption("--rewrite-scripts"):
        script.write_text(played(text))
        return
    assert played(text) == text
