"""The room that the driver has for what comes to it, as Spark's setting says."""

from typing import Any

import pytest

from kgroup.spark.room import room_of


class Session:
    """No more of a session than its settings."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.conf = self
        self._settings = settings

    def get(self, key: str, default: str) -> str:
        return self._settings.get(key, default)


@pytest.mark.parametrize(
    ("setting", "room"),
    [
        (None, 1 << 30),
        ("429496729", 429_496_729),
        ("512m", 512 << 20),
        ("2G", 2 << 30),
        ("3gb", 3 << 30),
        ("0", None),
        ("much", None),
    ],
)
def test_its_size_is_that_of_the_setting(setting: str | None, room: int | None) -> None:
    session: Any = Session({} if setting is None else {"spark.driver.maxResultSize": setting})
    assert room_of(session) == room
