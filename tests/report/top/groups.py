"""Groups as the live screen takes them, and a screen of some."""

from kgroup.report.top.group_line import GroupLine
from kgroup.report.top.model import Pressed, Refreshed, Resized, TopModel

NOW_MS = 1_763_642_924_000  # 2025-11-20T12:48:44Z

BILLING = GroupLine(
    group="billing-orders-processor-eu-west",
    kind="classic",
    state="Stable",
    epoch=49,
    members=3,
    partitions=12,
    lag=836,
    lag_max=209,
    grows=True,
    status="ERR",
    finding="stopped-group",
    stuck=True,
    findings=2,
    since_ms=NOW_MS - 134_000,
    evidence="3 live members; no commit after offset 69 for 1m 30s in which the log went on",
    blocked_by="all 3 members",
    event="commit",
    event_ms=NOW_MS - 142_000,
)
SEARCH = GroupLine(
    group="search",
    kind="consumer",
    state="Reconciling",
    epoch=7,
    members=2,
    partitions=4,
    lag=1018,
    lag_max=1000,
    lag_unknown=1,
    drain_ms=754_000,
    status="WARN",
    finding="lag-growing",
    findings=1,
    since_ms=NOW_MS - 60_000,
    evidence="commits go on, slower than records are written",
    blocked_by="mostly orders-3 slow-1 on 10.0.0.7",
    event="commit",
    event_ms=NOW_MS - 1500,
)
HEALTHY = GroupLine(
    group="orders",
    kind="classic",
    state="Stable",
    epoch=3,
    members=1,
    partitions=2,
    lag=0,
    lag_max=0,
    drain_ms=0,
    status="OK",
    event="generation 3 began",
    event_ms=NOW_MS,
)
UNKNOWN = GroupLine(
    group="\x1b[31mw\\x", kind="share", state="Empty", epoch=4, members=0, event="became empty", event_ms=0
)
FLEET = (HEALTHY, SEARCH, UNKNOWN, BILLING)


def screen(*keys: str, width: int = 80, height: int = 24, lines: tuple[GroupLine, ...] = FLEET) -> TopModel:
    """The groups in a screen, after these keys."""
    model = TopModel(source="localhost:9092", every_s=5).after(Resized(width, height))
    model = model.after(Refreshed(lines=lines, as_of_ms=NOW_MS))
    for key in keys:
        model = model.after(Pressed(key))
    return model


def names(model: TopModel) -> list[str]:
    return [line.group for line in model.shown]
