"""`--delete`: groups, with their offsets."""

from typing import TYPE_CHECKING

from kgroup.assignors.java_order import string_order
from kgroup.cli.compat.carried_out import carried_out
from kgroup.cli.compat.exceptions import exception
from kgroup.cli.compat.given import Given

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster


def run(given: Given, cluster: "Cluster") -> None:
    """Delete each group by itself, whatever becomes of the others."""
    from kgroup.cli.compat.describe_groups import chosen_groups
    from kgroup.report.compat.changes import delete_lines

    groups = string_order(chosen_groups(given, cluster))
    errors = {group: _delete(group, cluster) for group in groups}
    failed = {group: exception(error) for group, error in errors.items() if error is not None}
    for line in delete_lines(groups, failed):
        print(line)


def _delete(group: str, cluster: "Cluster") -> str | None:
    from kgroup.api.operations.deletions import deletion_of
    from kgroup.net.admin.cluster import error_name
    from kgroup.net.admin.coordinated import CoordinatorError

    try:
        refusal = carried_out(cluster, deletion_of(cluster, [group], command="compat-delete"))
    except CoordinatorError as error:
        return error_name(error.code)
    return refusal if isinstance(refusal, str) else None
