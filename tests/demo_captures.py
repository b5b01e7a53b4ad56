"""`python -m tests.demo_captures`: pack what `kgroup demo` unpacks, from fixtures/.

The same files give the same bytes: names are sorted, and no time or owner is kept. A test fails when the
zip is not what this packs.
"""

from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT: Final = Path(__file__).parents[1]
PACKED: Final = ROOT / "kgroup" / "api" / "demo.zip"
CAPTURES: Final = ("3.9.1/lives", "4.3.1/lives")
_TOLD_BESIDE: Final = (".json", ".jsonl", ".txt")
"""What the recorder of a capture wrote beside it: the truth, which no broker leaves."""
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # that a zip can say
_READABLE: Final = 0o644 << 16


def pack(fixtures: Path, packed: Path) -> None:
    """Write every file that the brokers left in the captures, named as below fixtures/."""
    with ZipFile(packed, "w", ZIP_DEFLATED, compresslevel=9) as captures:
        for capture in CAPTURES:
            for path in sorted((fixtures / capture).rglob("*")):
                if path.is_file() and path.suffix not in _TOLD_BESIDE:
                    entry = ZipInfo(path.relative_to(fixtures).as_posix(), _EARLIEST)
                    entry.compress_type = ZIP_DEFLATED
                    entry.create_system = 3  # Unix, wherever it is packed
                    entry.external_attr = _READABLE
                    captures.writestr(entry, path.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    pack(ROOT / "fixtures", PACKED)
