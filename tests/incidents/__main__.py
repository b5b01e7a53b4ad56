"""`python -m tests.incidents`: judge every life and capture anew; write results.toml and the README's figure.

`python -m tests.incidents LIFE FOLDER` plays one, as `not_reading.two_of_fifty_partitions`, into a folder.
"""

import sys
from pathlib import Path

from tests.incidents.judging import judge_captures, judge_library
from tests.incidents.library import play, read_library
from tests.incidents.results import (
    README,
    RESULTS,
    read_results,
    readme_with,
    result_of,
    sentence,
    write_results,
)

RECORDED = Path(__file__).parents[2] / "fixtures" / "incidents"


def main() -> None:
    if len(sys.argv) == 3:
        play(sys.argv[1]).write(Path(sys.argv[2]))
        return
    library = read_library()
    verdicts = [verdict for _, verdicts in judge_library(library) for verdict in verdicts]
    verdicts += judge_captures(RECORDED)
    write_results(map(result_of, verdicts), read_results() if RESULTS.exists() else {})
    text = README.read_text(encoding="utf-8")
    README.write_text(readme_with(text, sentence(library, read_results())), encoding="utf-8")


if __name__ == "__main__":
    main()
