"""Options of data sources, parsed from text. Errors name the source, the option and the allowed values.

Importing this module does not import PySpark.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeVar

from kgroup.errors import InputError
from kgroup.log.files.sources import STDIN

Choice = TypeVar("Choice", bound=StrEnum)

SCHEMA_VERSION: Final = 1
CLUSTERS: Final = "clusters"
"""The option that names several clusters."""

_PATHS: Final = ("path", "paths")
_OF_ONE: Final = "logEnds"
_CLUSTERS_ALLOWED: Final = 'JSON like {"east": "/logs/east", "west": ["s3a://b/1", "s3a://b/2"]}'


class OnDamage(StrEnum):
    """Values of the option `damage`."""

    FAIL = "fail"
    SKIP = "skip"


class GivenOptions:
    """The options of one read, as Spark hands them over: with names in lower case.

    Each method gives the value of one option, its default if it is not given, and raises InputError for a
    text that is not allowed.
    """

    def __init__(self, source: str, options: Mapping[str, str], known: Sequence[str]) -> None:
        """Raises InputError for an option that is not `known`; `load()` gives the paths."""
        self._source = source
        self._options = {name.lower(): value for name, value in options.items()}
        unknown = self._options.keys() - {name.lower() for name in known} - set(_PATHS)
        if unknown:
            raise InputError(f"{source}: no option {min(unknown)}, only {', '.join(sorted(known))}")

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._options

    @property
    def source(self) -> str:
        """The name of the source."""
        return self._source

    @property
    def has_paths(self) -> bool:
        """Whether `load` was given any."""
        return any(name in self._options for name in _PATHS)

    def paths(self) -> tuple[str, ...]:
        """Paths: `load(path)` gives one as the option path, `load([...])` gives several, in JSON."""
        paths: tuple[str, ...] = ()
        if "paths" in self._options:
            try:
                paths = tuple(json.loads(self._options["paths"]))
            except ValueError:
                raise self._wrong("paths", "a list of paths in JSON") from None
        if "path" in self._options:
            paths = (self._options["path"], *paths)
        if not paths:
            raise InputError(
                f"{self._source}: no path; give one or several to load(), or the option {CLUSTERS}"
            )
        if STDIN in paths:
            raise InputError(f"{self._source}: executors cannot read standard input")
        return paths

    def clusters(self) -> dict[str, tuple[str, ...]]:
        """The paths of each cluster by its name, as the option `clusters` has them in JSON."""
        if self.has_paths:
            raise InputError(f"{self._source}: either the option {CLUSTERS} or a path, not both")
        if _OF_ONE in self:
            raise InputError(f"{self._source}: option {_OF_ONE} is of one cluster, and {CLUSTERS} is given")
        try:
            pairs = json.loads(self._text(CLUSTERS, ""), object_pairs_hook=tuple)
            if not isinstance(pairs, tuple):
                raise ValueError(pairs)
            named = [(name, (paths,) if isinstance(paths, str) else tuple(paths)) for name, paths in pairs]
        except (ValueError, TypeError):
            raise self._wrong(CLUSTERS, _CLUSTERS_ALLOWED) from None
        texts = [text for name, paths in named for text in (name, *paths)]
        is_right = all(isinstance(text, str) and text for text in texts) and all(paths for _, paths in named)
        if not named or not is_right or len(dict(named)) < len(named):
            raise self._wrong(CLUSTERS, f"{_CLUSTERS_ALLOWED}, each name once")
        if any(STDIN in paths for _, paths in named):
            raise InputError(f"{self._source}: executors cannot read standard input")
        return dict(named)

    def of_cluster(self, paths: Sequence[str]) -> "GivenOptions":
        """The same options for one cluster at these paths."""
        options = {name: value for name, value in self._options.items() if name != CLUSTERS}
        return GivenOptions(self._source, {**options, "paths": json.dumps(paths)}, list(options))

    def choice(self, name: str, default: Choice) -> Choice:
        """One of an enumeration's values, in any case."""
        kind = type(default)
        try:
            return kind(self._text(name, default).lower())
        except ValueError:
            raise self._wrong(name, " or ".join(kind)) from None

    def flag(self, name: str) -> bool:
        """`true` or `false`, which is the default."""
        text = self._text(name, "false").lower()
        if text not in ("true", "false"):
            raise self._wrong(name, "true or false")
        return text == "true"

    def number(self, name: str, default: int, unit: str = "") -> int:
        """A whole number above 0."""
        text = self._text(name, str(default))
        if not (text.isascii() and text.isdigit()) or int(text) == 0:
            raise self._wrong(name, f"a number of {unit}" if unit else "a number above 0")
        return int(text)

    def time_ms(self, name: str) -> int | None:
        """Epoch ms of an ISO 8601 time, UTC unless it says otherwise, or of epoch ms; None without one."""
        if name not in self:
            return None
        text = self._text(name, "")
        if text.isascii() and text.isdigit():
            return int(text)
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise self._wrong(name, "a time like 2026-02-01T10:00:00Z, or epoch ms") from None
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return int(time.timestamp() * 1000)

    def text(self, name: str) -> str | None:
        """The option's text, which may not be empty; None if not given."""
        text = self._options.get(name.lower())
        if text == "":
            raise self._wrong(name, "a text")
        return text

    def columns(self, all_of_them: Sequence[str]) -> tuple[str, ...]:
        """Names parted by commas, all columns without them."""
        if "columns" not in self:
            return tuple(all_of_them)
        names = tuple(name.strip() for name in self._text("columns", "").split(","))
        wrong = next((name for name in names if name not in all_of_them), None)
        if wrong is not None or len(set(names)) < len(names):
            raise self._wrong(
                "columns", f"names, each once and parted by commas, of {', '.join(all_of_them)}"
            )
        return names

    def check_schema_version(self) -> None:
        """Refuse a version of the schema that there is not."""
        if self._text("schemaVersion", str(SCHEMA_VERSION)) != str(SCHEMA_VERSION):
            raise self._wrong("schemaVersion", str(SCHEMA_VERSION))

    def offsets_partitions(self) -> int | None:
        """The partition count of the offsets topic; 0 is not to ask for it, None is to find it out."""
        text = self._text("offsetsPartitions", "auto").lower()
        if text == "auto":
            return None
        if text == "unknown":
            return 0
        if not (text.isascii() and text.isdigit()) or int(text) == 0:
            raise self._wrong("offsetsPartitions", "auto, unknown or the number of partitions of the topic")
        return int(text)

    def _text(self, name: str, default: str) -> str:
        return self._options.get(name.lower(), default).strip()

    def _wrong(self, name: str, allowed: str) -> InputError:
        return InputError(f"{self._source}: option {name} is {self._options[name.lower()]!r}, not {allowed}")
