"""kgroup: diagnostics and operations for Kafka consumer groups, as a command line and as a library.

    import kgroup

    with kgroup.open_logs("/var/lib/kafka/data") as logs:  # or kgroup.connect("localhost:9092")
        print(kgroup.replay(logs, "orders-app"))

To open: `open_logs`, `connect`. To ask: `lag_report`, `lag_history`, `replay`, `what_if`, `ledger`, `feeds`,
`deadlines`, `advise`, `check_client`, `incident_report`, `decode`, `group_plan`. Without any log:
`coordinator_partition`, `assign`, `simulate`, and `cluster`, which runs brokers in this process. What goes
wrong is of `errors`. docs/library.md shows each.

They are loaded when they are first used, so that importing kgroup costs nothing. The layers of packages, each
importing only those below it, stand in ARCHITECTURE.md; read `kgroup/protocol/records/entries.py` first: its
dataclasses are what everything else handles.
"""

from kgroup.version import __version__ as __version__

TYPE_CHECKING = False  # typing's own would take longer to import than all of this
if TYPE_CHECKING:
    from kgroup import errors as errors
    from kgroup.api.advise import advise as advise
    from kgroup.api.advise import check_client as check_client
    from kgroup.api.assign import assign as assign
    from kgroup.api.assign import group_plan as group_plan
    from kgroup.api.coordinators import coordinator_partition as coordinator_partition
    from kgroup.api.deadlines import deadlines as deadlines
    from kgroup.api.decode.decoded import decode as decode
    from kgroup.api.feeds import feeds as feeds
    from kgroup.api.incident.made import incident_report as incident_report
    from kgroup.api.lag.report import lag_report as lag_report
    from kgroup.api.lag_history.report import lag_history as lag_history
    from kgroup.api.ledger import ledger as ledger
    from kgroup.api.live import connect as connect
    from kgroup.api.opened import open_logs as open_logs
    from kgroup.api.replay import replay as replay
    from kgroup.api.simulate import simulate as simulate
    from kgroup.api.what_if import what_if as what_if
    from kgroup.testing import cluster as cluster


_MODULES = {
    "advise": "kgroup.api.advise",
    "assign": "kgroup.api.assign",
    "check_client": "kgroup.api.advise",
    "cluster": "kgroup.testing",
    "connect": "kgroup.api.live",
    "coordinator_partition": "kgroup.api.coordinators",
    "deadlines": "kgroup.api.deadlines",
    "decode": "kgroup.api.decode.decoded",
    "errors": "kgroup.errors",
    "feeds": "kgroup.api.feeds",
    "group_plan": "kgroup.api.assign",
    "incident_report": "kgroup.api.incident.made",
    "lag_history": "kgroup.api.lag_history.report",
    "lag_report": "kgroup.api.lag.report",
    "ledger": "kgroup.api.ledger",
    "open_logs": "kgroup.api.opened",
    "replay": "kgroup.api.replay",
    "simulate": "kgroup.api.simulate",
    "what_if": "kgroup.api.what_if",
}
"""Public name -> the module that has it."""

__all__ = [
    "advise",
    "assign",
    "check_client",
    "cluster",
    "connect",
    "coordinator_partition",
    "deadlines",
    "decode",
    "errors",
    "feeds",
    "group_plan",
    "incident_report",
    "lag_history",
    "lag_report",
    "ledger",
    "open_logs",
    "replay",
    "simulate",
    "what_if",
]


if not TYPE_CHECKING:  # else every misspelt name would have a type

    def __getattr__(name: str) -> object:
        """Load the object of a public name (PEP 562)."""
        if name not in _MODULES:
            raise AttributeError(f"module 'kgroup' has no attribute {name!r}")
        from importlib import import_module

        module = import_module(_MODULES[name])
        value = globals()[name] = module if name == "errors" else getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
