"""Growth of listing and describing with groups: `python -m benchmarks.groups [--groups 500,1500,5000]`.

One node in memory, in a process of its own, that more and more groups commit to, each to 20 partitions.
At each size whole processes are measured: `groups` and `describe --all` of all groups, the cheapest of the
rounds, and how many requests they say it took. CPU is that of kgroup alone, without the broker's.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka.protocol.consumer.group import OffsetCommitRequest
from tabulate import tabulate

from benchmarks.process import Cost, cost_of_kgroup
from benchmarks.serve import serving
from benchmarks.topics import make_topic
from kgroup.net.admin.cluster import Cluster
from kgroup.net.connect.properties import ConnectionOptions

_CALLS: Final = {"groups": ("groups",), "describe --all": ("describe", "--all")}
_TOPIC: Final = "orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A command at a number of groups: its requests, and what it cost."""

    command: str
    groups: int
    requests: int
    cost: Cost


def measure(sizes: Sequence[int], partitions: int, rounds: int) -> Iterator[Growth]:
    """Each command at each of the sizes, which rise."""
    with serving() as bootstrap, Cluster(ConnectionOptions(bootstrap_servers=bootstrap)) as cluster:
        make_topic(cluster, _TOPIC, partitions)
        there = 0
        for size in sizes:
            commit_groups(cluster, [f"group-{number:06}" for number in range(there, size)], partitions)
            there = size
            for name, call in _CALLS.items():
                command = (*call, "-b", bootstrap, "-o", "csv")
                costs = [cost_of_kgroup(*command, "-q") for _ in range(rounds)]
                yield Growth(
                    command=name,
                    groups=size,
                    requests=_requests(command),
                    cost=min(costs, key=lambda cost: cost.cpu_seconds),
                )


def _requests(command: Sequence[str]) -> int:
    """The number that stands in `5,000 groups, in 123 requests`."""
    ended = subprocess.run(
        [sys.executable, "-m", "kgroup", *command], capture_output=True, text=True, check=True
    )
    (line,) = [line for line in ended.stderr.splitlines() if line.endswith(" requests")]
    return int(line.split()[-2])


def commit_groups(cluster: Cluster, groups: Sequence[str], partitions: int) -> None:
    """Have each group commit for all partitions, without being a member."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    committed = [
        topic.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=0, committed_leader_epoch=-1, committed_metadata=""
        )
        for index in range(partitions)
    ]
    requests = [
        (
            coordinator.node_id or 0,
            OffsetCommitRequest(
                group_id=coordinator.group,
                generation_id_or_member_epoch=-1,
                member_id="",
                group_instance_id=None,
                topics=[topic(name=_TOPIC, partitions=committed)],
                max_version=9,
            ),
        )
        for coordinator in cluster.find_coordinators(groups)
    ]

    def check(index: int, answer: Any) -> None:
        assert all(each.error_code == 0 for each in answer.topics[0].partitions), (groups[index], answer)

    cluster.ask_many(requests, check)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument("--groups", default="500,1500,5000", metavar="N,...")
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    sizes = sorted(int(count) for count in given.groups.split(","))
    rows = [
        (
            grown.command,
            grown.groups,
            grown.requests,
            grown.cost.cpu_seconds,
            grown.cost.elapsed_seconds,
            grown.cost.peak_mb,
            1000 * grown.cost.cpu_seconds / grown.groups,
        )
        for grown in measure(sizes, given.partitions, given.rounds)
    ]
    headers = ("command", "groups", "requests", "CPU s", "elapsed s", "peak MB", "CPU ms a group")
    print(tabulate(sorted(rows), headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
