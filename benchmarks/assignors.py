"""Time of every assignor on Kafka's own performance questions, beside what Java took for them.

    python -m benchmarks.assignors [--runs N] [--without-kafka-python] [FOLDER]

FOLDER holds perf.json and its questions (by default fixtures/vectors/assignors). Each line has the least
and the median CPU time of N warm runs in this process, Java's median, and how many times that our least is
(the steadier number on a busy machine); `over` marks what is neither under 10 ms nor within 10 times Java.
Building the input is not timed, here as there. At the end the sticky assignor
and kafka-python's own answer the same questions in turn.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kgroup.assignors.model import GroupMember, Topic
from kgroup.assignors.registry import CLIENT_ASSIGNORS, SERVER_ASSIGNORS
from tests.vectors.assignors import client_question, is_server_side, questions, server_question

QUICK_MS = 10.0
TIMES_JAVA = 10.0
QUESTIONS = Path(__file__).parents[1] / "fixtures" / "vectors" / "assignors"
BESIDE_KAFKA_PYTHON = ("equal-500x5000/sticky", "equal-500x5000-next/sticky")


@dataclass(frozen=True, slots=True)
class Task:
    """One question: `run` answers it."""

    name: str
    java_ms: float
    run: Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The cost of an answer, in CPU milliseconds."""

    name: str
    least_ms: float
    median_ms: float
    java_ms: float

    @property
    def times_java(self) -> float:
        """The least beside Java's median."""
        return self.least_ms / self.java_ms

    @property
    def is_over(self) -> bool:
        """Whether it is neither quick nor near Java."""
        return self.least_ms > QUICK_MS and self.times_java > TIMES_JAVA


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideKafkaPython:
    """One question for both sticky assignors, in CPU milliseconds."""

    name: str
    ours_ms: float
    theirs_ms: float

    @property
    def times(self) -> float:
        """The ratio of their time to ours."""
        return self.theirs_ms / self.ours_ms


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    print(f"{'':45} least ms  median   Java ms   times")
    over = 0
    for one in measure(arguments.folder, arguments.runs):
        over += one.is_over
        figures = f"{one.least_ms:8.2f} {one.median_ms:7.2f}   {one.java_ms:7.2f}  {one.times_java:6.1f}"
        print(f"{one.name:45} {figures}{'  over' if one.is_over else ''}")
    print(f"{over} over {QUICK_MS:.0f} ms and {TIMES_JAVA:.0f} times Java")
    if not arguments.without_kafka_python:
        for name in BESIDE_KAFKA_PYTHON:
            both = beside_kafka_python(arguments.folder, name)
            print(
                f"{name}: kgroup {both.ours_ms:.1f} ms, kafka-python {both.theirs_ms:.0f} ms:"
                f" {both.times:.0f} times as fast"
            )


def measure(folder: Path, runs: int) -> Iterator[Answered]:
    """Each question answered so many times."""
    for task in tasks(folder):
        times_ms = sorted(_times_ms(task.run, runs))
        yield Answered(
            name=task.name,
            least_ms=times_ms[0],
            median_ms=statistics.median(times_ms),
            java_ms=task.java_ms,
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=QUESTIONS, metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=9, metavar="N")
    parser.add_argument("--without-kafka-python", action="store_true")
    return parser.parse_args()


def tasks(folder: Path) -> Iterator[Task]:
    """The questions of `perf.json`."""
    perf = json.loads((folder / "perf.json").read_text(encoding="utf-8"))
    java_ms = {figure["id"]: figure["java_ms_median"] for figure in perf}
    for file in ("perf_client.jsonl.gz", "perf_server.jsonl.gz"):
        for case in questions(folder / file):
            yield Task(case["id"], java_ms[case["id"]], _answerer(case["assignor"], case["rounds"][0]))


def _answerer(assignor: str, question: dict[str, Any]) -> Callable[[], object]:
    if is_server_side(question):
        topics, targets = server_question(question)
        return lambda: SERVER_ASSIGNORS[assignor].assign(targets, topics)
    topics, members = client_question(question)
    return lambda: CLIENT_ASSIGNORS[assignor].assign(members, topics)


def _times_ms(run: Callable[[], object], runs: int) -> Iterator[float]:
    """CPU times after one run to warm up, each begun with the garbage of others collected."""
    run()
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        run()
        yield (time.process_time() - start) * 1000


def beside_kafka_python(folder: Path, name: str) -> BesideKafkaPython:
    """Run kafka-python's sticky assignor on a question once, and ours before and after it."""
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    case = next(case for case in questions(folder / "perf_client.jsonl.gz") if case["id"] == name)
    topics, members = client_question(case["rounds"][0])

    def ours() -> object:
        return CLIENT_ASSIGNORS["sticky"].assign(members, topics)

    before = statistics.median(_times_ms(ours, 5))
    start = time.process_time()
    StickyPartitionAssignor().assign(_cluster(topics), _joined(members))
    theirs_ms = (time.process_time() - start) * 1000
    after = statistics.median(_times_ms(ours, 5))
    return BesideKafkaPython(name=name, ours_ms=max(before, after), theirs_ms=theirs_ms)


def _cluster(topics: list[Topic]) -> Any:  # what kafka-python asks of its own untyped class
    counts = {topic.name: topic.partitions for topic in topics}
    return SimpleNamespace(
        topics=lambda: set(counts),
        partitions_for_topic=lambda name: set(range(counts[name])) if name in counts else None,
    )


def _joined(members: list[GroupMember]) -> list[Any]:
    return [
        SimpleNamespace(
            member_id=member.member_id,
            metadata=SimpleNamespace(topics=list(member.topics), user_data=member.user_data),
        )
        for member in members
    ]


if __name__ == "__main__":
    main()
