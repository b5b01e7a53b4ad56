"""Python functions assembled from a schema: lines of source, and the objects they name."""

from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

Rows = Mapping[str, type[tuple[Any, ...]]]
"""By the schema's name of a struct that repeats: the named tuple that it is read as, and written from."""

FIXED_FORMATS: Final = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "bool": "?",
}
"""What `struct` calls the types of a fixed size."""


class PythonSource:
    """The source of a module in the making; `names` are its globals."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._indent = ""
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line; one that ends with a colon opens a block, which `close` ends."""
        self._lines.append(self._indent + text)
        if text.endswith(":"):
            self._indent += "    "

    def close(self) -> None:
        """End the block that was opened last."""
        self._indent = self._indent[:-4]

    def name(self, stem: str) -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, stem: str, value: Any) -> str:
        """The name that a value has in the source."""
        name = self.name(stem)
        self.names[name] = value
        return name

    def layout(self, formats: str) -> str:
        """The name of a `Struct` of big-endian fields."""
        return self.constant("LAYOUT", Struct(f">{formats}"))

    def function(self, name: str, origin: str) -> Any:
        """Compile what is there so far; `origin` stands in tracebacks."""
        exec(compile("\n".join(self._lines), f"<{origin}>", "exec"), self.names)
        return self.names[name]
