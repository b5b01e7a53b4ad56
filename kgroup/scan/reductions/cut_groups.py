"""Cuts what a part of a log leaves into pieces of whole groups, for several processes to continue with.

Taken are the values that reductions leave: `Newest`, `LastPart`, `History`, and tuples of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa

from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import group_of
from kgroup.scan.kernels.gather import no_rows, values_of
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.cut_last import compact
from kgroup.scan.reductions.history import REACH_SCHEMA, History
from kgroup.scan.reductions.last_commits import LastPart
from kgroup.scan.reductions.newest import Newest

if TYPE_CHECKING:
    Cut: TypeAlias = "Newest | LastPart | History | tuple[Cut, ...]"

PieceOf = Callable[[str], int]
"""The piece that a group goes to, from 0 on; a number below 0 leaves it out."""

LEFT_OUT: Final = -1


def cut_by_hash(part: Any, pieces: int) -> "Sequence[Any]":
    """Pieces by a hash of the group, to be merged each with its like of other parts of the same log.

    What is of no group goes to the first one; ends of transactions go to all.
    """
    if pieces == 1:
        return [part]

    def piece_of(group: str) -> int:
        return crc32(group.encode()) % pieces

    return [
        with_rest(piece, part, is_first=number == 0)
        for number, piece in enumerate(cut_groups(part, piece_of, pieces))
    ]


def cut_groups(part: "Cut", piece_of: PieceOf, pieces: int) -> "list[Cut]":
    """Pieces of a part that is whole, as no part of the same log needs to be put to it any more.

    They have the groups' rows and records, and nothing that is of no group: no ends of transactions, no
    damage, no reach, no counts.
    """
    match part:
        case Newest():
            return list(_newest(part, piece_of, pieces))
        case LastPart():
            return list(_last(part, piece_of, pieces))
        case History():
            rounds = _by_piece(part.rounds, lambda place: place[1], piece_of, pieces)
            return [History(reach=no_rows(REACH_SCHEMA), rounds=each) for each in rounds]
        case _:
            return list(zip(*(cut_groups(each, piece_of, pieces) for each in part), strict=True))


def of_no_group(part: Newest) -> Newest:
    """The part that belongs to no group: damage, records that cannot be read, and counts."""
    others = tuple(logged for logged in part.others if _group_of(logged) is None)
    none = no_rows(part.commits.schema)
    return replace(part, commits=none, pending=none, first_markers={}, others=others)


def _newest(part: Newest, piece_of: PieceOf, pieces: int) -> "list[Newest]":
    others: list[list[LoggedEntry]] = [[] for _ in range(pieces)]
    for logged in part.others:
        group = _group_of(logged)
        number = LEFT_OUT if group is None else piece_of(group)
        if number >= 0:
            others[number].append(logged)
    of_pieces = zip(
        _rows(part.commits, piece_of, pieces), _rows(part.pending, piece_of, pieces), others, strict=True
    )
    return [
        Newest(
            commits=commits,
            pending=pending,
            first_markers={},
            others=tuple(entries),
            damage=(),
            records=0,
            batches=0,
            bytes=0,
        )
        for commits, pending, entries in of_pieces
    ]


def _last(part: LastPart, piece_of: PieceOf, pieces: int) -> "list[LastPart]":
    tables = (_rows(rows, piece_of, pieces) for rows in (part.settled, part.waiting, part.leaps))
    memberships = _by_piece(part.memberships, lambda place: place[1], piece_of, pieces)
    return [
        LastPart(settled=settled, waiting=waiting, first_markers={}, memberships=changes, leaps=leaps)
        for settled, waiting, leaps, changes in zip(*tables, memberships, strict=True)
    ]


def with_rest(piece: "Cut", part: "Cut", *, is_first: bool) -> "Cut":
    """A piece of a part with what other parts may settle, and the first one with what is of no group."""
    match piece, part:
        case Newest(), Newest():
            piece = replace(piece, first_markers=part.first_markers)
            if not is_first:
                return piece
            rest = of_no_group(part)
            others = (*piece.others, *rest.others)
            return replace(
                rest,
                commits=piece.commits,
                pending=piece.pending,
                first_markers=part.first_markers,
                others=tuple(sorted(others, key=lambda logged: (logged.partition, logged.offset))),
            )
        case LastPart(), LastPart():
            problems = part.problems if is_first else ()
            return replace(piece, first_markers=part.first_markers, problems=problems)
        case History(), History():
            return replace(piece, reach=part.reach) if is_first else piece
        case _:
            assert isinstance(piece, tuple) and isinstance(part, tuple), "a piece is of its part's kind"
            both = zip(piece, part, strict=True)
            return tuple(with_rest(one, whole, is_first=is_first) for one, whole in both)


def _group_of(logged: LoggedEntry) -> str | None:
    return group_of(logged.entry.key) if isinstance(logged.entry, OffsetsEntry) else None


def _rows(rows: pa.Table, piece_of: PieceOf, pieces: int) -> list[pa.Table]:
    """The rows of each piece's groups, in their order and without the names of others."""
    if not rows.num_rows:
        return [rows] * pieces
    rows = rows.unify_dictionaries().combine_chunks()
    names = rows["group"].chunk(0)
    assert isinstance(names, pa.DictionaryArray)
    of_names = np.array([piece_of(name) for name in names.dictionary.to_pylist()], np.int64)
    piece = of_names[values_of(rows["group"])]
    order = np.argsort(piece, kind="stable")
    bounds = np.searchsorted(piece[order], np.arange(pieces + 1))
    return [
        compact(taken(rows, order[start:stop]))
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _by_piece(
    values: Any, group_of_place: Callable[[Any], str], piece_of: PieceOf, pieces: int
) -> list[dict[Any, Any]]:
    by_piece: list[dict[Any, Any]] = [{} for _ in range(pieces)]
    for place, value in values.items():
        number = piece_of(group_of_place(place))
        if number >= 0:
            by_piece[number][place] = value
    return by_piece
