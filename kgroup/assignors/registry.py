"""Every assignor by its name on the wire."""

from kgroup.assignors.cooperative_sticky import CooperativeStickyAssignor
from kgroup.assignors.model import ClientAssignor, ServerAssignor
from kgroup.assignors.range import RangeAssignor
from kgroup.assignors.roundrobin import RoundRobinAssignor
from kgroup.assignors.server_range import ServerRangeAssignor
from kgroup.assignors.simple import SimpleAssignor
from kgroup.assignors.sticky import StickyAssignor
from kgroup.assignors.uniform import UniformAssignor

CLIENT_ASSIGNORS: dict[str, ClientAssignor] = {
    assignor.name: assignor
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
}
OLDER_CLIENT_ASSIGNORS: dict[str, dict[str, ClientAssignor]] = {}
SERVER_ASSIGNORS: dict[str, ServerAssignor] = {
    assignor.name: assignor for assignor in (UniformAssignor(), ServerRangeAssignor(), SimpleAssignor())
}
