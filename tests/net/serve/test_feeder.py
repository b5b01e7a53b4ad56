"""Long answers go out in turn, and everybody else has a turn in between."""

import asyncio

from kgroup.net.serve.feeder import TURN_BYTES, Feeder


class Reader:
    """A connection that takes so many pieces of a size, one at a time."""

    def __init__(self, token: int, feeder: Feeder, pieces: int, size: int, said: list[str]) -> None:
        self.token = token
        self._feeder = feeder
        self._left = pieces
        self._size = size
        self._said = said

    def feed(self) -> int:
        self._left -= 1
        self._said.append(str(self.token))
        if self._left:
            self._feeder.add(self)
        return self._size


def story(pieces: dict[int, int], size: int) -> str:
    """Who is fed when; a dot is a turn of all others."""

    async def play() -> list[str]:
        said: list[str] = []
        feeder = Feeder()
        for token, count in pieces.items():
            feeder.add(Reader(token, feeder, count, size, said))
        while feeder._due:
            await asyncio.sleep(0)
            said.append(".")
        return said

    return "".join(asyncio.run(play()))


def test_between_the_pieces_of_an_answer_others_have_their_turn() -> None:
    assert story({1: 3}, 10) == "1.1.1."


def test_answers_take_turns() -> None:
    assert story({1: 3, 2: 1, 3: 2}, 10) == "123.13.1."


def test_of_many_readers_only_some_are_fed_before_others_have_their_turn() -> None:
    assert story({1: 2, 2: 2, 3: 1, 4: 1}, TURN_BYTES // 2) == "12.34.12."


def test_who_is_added_twice_is_fed_once() -> None:
    async def play() -> list[str]:
        said: list[str] = []
        feeder = Feeder()
        reader = Reader(1, feeder, 1, 10, said)
        feeder.add(reader)
        feeder.add(reader)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return said

    assert asyncio.run(play()) == ["1"]
