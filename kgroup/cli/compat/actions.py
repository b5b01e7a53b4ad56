"""The actions of kafka-consumer-groups, each a module in this package with a function `run`.

    def run(given: Given, cluster: Cluster) -> None

It prints what the tool prints. What the tool says of a failure under way is a `ToolError`; a
`ToolUsageError` is what it refuses only once it runs. Failures to reach or ask the cluster stay kgroup's own
SourceError: they end with one line and status 1.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from kgroup.cli.compat.given import Given

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster

MODULES: Final = {
    "list": "kgroup.cli.compat.list_groups",
    "describe": "kgroup.cli.compat.describe_groups",
    "reset-offsets": "kgroup.cli.compat.reset_offsets",
    "delete": "kgroup.cli.compat.delete_groups",
    "delete-offsets": "kgroup.cli.compat.delete_offsets",
}
"""Action, as its option is called -> the module that does it."""


def run(action: str, given: Given, cluster: "Cluster") -> None:
    """Do the action."""
    import_module(MODULES[action]).run(given, cluster)
