"""The result of a run: its measures, and every promise it broke."""

from dataclasses import dataclass
from typing import Final

from kgroup.sim.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A checker's finding: `checker` is one of CHECKERS, `at_ms` the world's epoch ms."""

    checker: str
    at_ms: int
    what: str


ONE_OWNER: Final = "one-owner"
COMMITS_SURVIVE: Final = "commits-survive"
GENERATIONS_GROW: Final = "generations-grow"
SETTLES: Final = "settles"
NO_SKIP: Final = "no-skip"
MEMBERS_GO_ON: Final = "members-go-on"
SESSIONS_END: Final = "sessions-end"
ALIVE_STAY: Final = "alive-stay"
DEADLINES: Final = "deadlines"
ROUNDS_END: Final = "rounds-end"
ANSWERS_FIT: Final = "answers-fit"
NOBODY_FORGOTTEN: Final = "nobody-forgotten"
SHARES_FIT: Final = "shares-fit"
LOG_AGREES: Final = "log-agrees"
LINEARIZABLE: Final = "linearizable"
RETENTION: Final = "retention"
TRANSACTIONS_END: Final = "transactions-end"
RESUMES: Final = "resumes"
GIVES_UP: Final = "gives-up"
KEEPS_ALIVE: Final = "keeps-alive"
UNREVOKED: Final = "unrevoked"
EPOCHS_GROW: Final = "epochs-grow"
RECONCILES: Final = "reconciles"
TARGETS_FIT: Final = "targets-fit"
SUBSCRIBED: Final = "subscribed"
REPLICATED: Final = "replicated"

CHECKERS: Final = {
    ONE_OWNER: "no partition has two owners in one generation",
    COMMITS_SURVIVE: "the last acknowledged commit of every partition is the one the log returns",
    GENERATIONS_GROW: "every generation that a group stores has a higher number than the one before",
    SETTLES: "after the last fault every group becomes stable, and every partition has a reader",
    NO_SKIP: "no record is passed over: nothing is handed out or committed beyond what was processed",
    MEMBERS_GO_ON: "no member fails, unless the scenario itself asks for the impossible",
    SESSIONS_END: "a member silent for a session timeout is removed, and so is an id nobody came back with",
    ALIVE_STAY: "no member is removed that shows in time that it is alive, or that may still rejoin",
    DEADLINES: "every member, every id and every rebalance has a deadline that somebody watches",
    ROUNDS_END: "no half of a rebalance takes longer than the rebalance timeout, none is cut short",
    ANSWERS_FIT: "every request gets the answer its group's state calls for; a fenced member stays fenced",
    NOBODY_FORGOTTEN: "every request is answered, or held until its round goes on",
    SHARES_FIT: "members of a generation hear the same of it, and get what its leader assigned",
    LOG_AGREES: "everything acknowledged is in the log, and coordinators hold what their logs say",
    LINEARIZABLE: "some order of the commits explains every offset that is read",
    RETENTION: "offsets are deleted on request or when they expire, and not before",
    TRANSACTIONS_END: "every transaction ends, and its offsets count or not as it was decided",
    RESUMES: "a new owner resumes at the last acknowledged commit, record by record",
    GIVES_UP: "members commit before they give up partitions, and own nothing they have given up",
    UNREVOKED: "no consumer-protocol member owns a partition that another has not given up",
    EPOCHS_GROW: "the epochs of consumer groups, their targets and their members never go back",
    RECONCILES: "after the last fault every consumer group reaches its target, and its log agrees with it",
    TARGETS_FIT: "a consumer group's target gives each partition to one member that subscribes to it",
    REPLICATED: "nobody reads at or above the high watermark, and nothing below it is lost",
    SUBSCRIBED: "only records of subscribed topics are handed out, and none without a subscription",
    KEEPS_ALIVE: "members heartbeat, poll and commit in time, and leave when they close",
}

KNOWN: Final = {
    ONE_OWNER: "Kafka's own assignor gives it to both",
    MEMBERS_GO_ON: "Kafka's coordinator fails to upgrade a classic group that has not chosen a protocol yet",
    RECONCILES: "its owner joined by a heartbeat that came twice, and the second answer gave it; or was told "
    "to give it up by a coordinator whose log has lost that since; Kafka's coordinator gives it once. Or one "
    "reads it on that is thought to have given it up, as its heartbeat came twice, or when it had hung up",
    UNREVOKED: "its heartbeat came twice, or when it had hung up, and Kafka's coordinator believes it, which "
    "does not name what an answer has brought since",
    SETTLES: "a downgrade began a rebalance that went with its coordinator, and Kafka's next one begins none",
}
"""Why a promise may not hold although everybody does as Kafka's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The cost of a run, for comparison: the same measures whatever the design.

    `notifications`: how often a member was told of a rebalance (REBALANCE_IN_PROGRESS; a watch that fired).
    `moved_partitions`: arrivals at another member than the one before. `unavailable_partition_s`: how long
    partitions had no running reader, summed over groups and partitions. `two_owner_partition_s`: how long
    they had more than one. `duplicates`: records processed again. `passed_over`: never processed, as
    `auto.offset.reset=latest` began behind them. `stopped_member_s`: how long running
    members waited for a rebalance with nothing to read. `requests`: of members, to brokers or to ZooKeeper.
    """

    notifications: int = 0
    rebalances: int = 0
    generations: int = 0
    moved_partitions: int = 0
    unavailable_partition_s: float = 0.0
    two_owner_partition_s: float = 0.0
    processed: int = 0
    duplicates: int = 0
    passed_over: int = 0
    stopped_member_s: float = 0.0
    requests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One play of a scenario.

    `settled_ms`: how long after the last fault it took to settle; None: never. `known`: promises that did not
    hold although everybody did as Kafka's own; KNOWN says how.
    """

    scenario: Scenario
    seed: int
    end_ms: int
    settled_ms: int | None
    violations: tuple[Violation, ...]
    tally: Tally
    known: tuple[Violation, ...] = ()
