"""`--cluster-path NAME=PATH`: the logs of several clusters under names the user gives. No heavy imports."""

from collections.abc import Sequence

from kgroup.errors import InputError

_FORM = "not in the form NAME=PATH, like west=/kafka-logs/west or west=s3a://bucket/west"


def clusters_of(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The paths of each cluster, in the order of their names' first mention.

    A name that comes again has one more path. Raises InputError for what has no name or no path.
    """
    clusters: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, _, path = text.partition("=")
        if not name.strip() or not path or "/" in name:
            raise InputError(f"--cluster-path {text!r}: {_FORM}")
        clusters[name.strip()] = (*clusters.get(name.strip(), ()), path)
    return clusters
