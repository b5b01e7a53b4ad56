"""The explanations of `kgroup simulate --explain`, given the first time something happens."""

from typing import Final

LECTURES: Final = {
    "find-coordinator": (
        "Every node coordinates some groups: the one that leads partition abs(hashCode(group)) mod "
        "{partitions} of __consumer_offsets, for {group} partition {partition}. Any node can say which "
        "one leads it, so the least loaded is asked."
    ),
    "coordinator-found": (
        "From now on the member has a separate connection to the coordinator, so that a join that "
        "waits there delays no fetch."
    ),
    "join": (
        "A JOIN_GROUP carries the session timeout, the time the member needs at most to come back in a "
        "rebalance (max.poll.interval.ms), and per assignor it offers a subscription: its topics, and "
        "for some assignors what it owns."
    ),
    "member-id-required": (
        "The coordinator makes the member's id, `client id-UUID`, and first only tells it: a client "
        "that never comes back with it leaves no member behind (KIP-394)."
    ),
    "joined-leader": (
        "The leader is the member that joined first. Only its answer lists all members with their "
        "subscriptions: the clients assign the partitions, not the broker."
    ),
    "joined": (
        "All members of the generation are answered at the same time. All but the leader learn only the "
        "generation, the assignor and the leader."
    ),
    "sync-leader": "The leader has run the assignor and sends everybody's share.",
    "sync": "The others send an empty SYNC_GROUP, which waits at the coordinator for the leader's.",
    "synced": (
        "Before anybody gets a share, the whole generation is appended to __consumer_offsets: another "
        "node that takes over reads it there."
    ),
    "consumer-join": (
        "A CONSUMER_GROUP_HEARTBEAT with epoch 0 joins. It carries everything: the member's own id, its "
        "topics, and the time it may take to give partitions up. There is no leader, as the coordinator "
        "assigns (KIP-848)."
    ),
    "consumer-assigned": (
        "The coordinator lists what the member should own now, without what others still own. The "
        "member gives up what is no longer listed, and then takes the rest."
    ),
    "consumer-acknowledge": (
        "The member has done so, and reports what it owns. What it gave up is free now, and goes to its next "
        "owner with that one's next heartbeat: nobody waits for the whole group."
    ),
    "consumer-heartbeat": (
        "A heartbeat at the interval the coordinator sets. It repeats nothing the coordinator knows."
    ),
    "consumer-leave": (
        "Epoch -1 leaves for good; a static member leaves with -2 and keeps its place for a session."
    ),
    "offset-fetch": "A member starts at the group's committed offset, whoever committed it.",
    "nothing-committed": (
        "Without a commit auto.offset.reset decides: earliest asks for the log's start, latest for its end."
    ),
    "fetch": (
        "It reads from the partitions' leaders, below the high watermark. Fetches go on all the time "
        "and are not narrated any more."
    ),
    "heartbeat": (
        "A heartbeat every heartbeat.interval.ms, at most a third of the session timeout, keeps it in "
        "the group. They are narrated again only when the answer is not NONE."
    ),
    "commit": (
        "A commit gives the next offset to read. It is stored with the generation it comes from, and "
        "refused from a member of an older one. Later commits are narrated only when they fail."
    ),
    "rebalance-in-progress": (
        "This is how members learn of a rebalance: no broker calls a client, it has to ask."
    ),
    "revoke-eager": (
        "Under an eager assignor a member gives up everything before it joins again: nobody reads any "
        "of it until the new generation exists. With auto-commit it has just committed."
    ),
    "revoke-cooperative": (
        "Under cooperative-sticky a member gives up only what goes to somebody else, and joins once "
        "more so that it can be handed out (KIP-429)."
    ),
    "assigned": "It reads from here on.",
    "lost": ("It was removed while unreachable: others may have read on, so there is nothing to commit."),
    "leave": "Leaving saves the others from waiting for its session to expire.",
    "state-PREPARING_REBALANCE": (
        "JOIN_GROUP is on its way; heartbeats stop, as the join itself is a sign of life."
    ),
    "state-COMPLETING_REBALANCE": "It is in a generation and waits for its share; heartbeats go on.",
    "new-group": "A group exists as soon as somebody joins it, and starts Empty.",
    "initial-delay": (
        "Empty -> PreparingRebalance. An empty group waits group.initial.rebalance.delay.ms, again "
        "after each that joins meanwhile, so that a deployment ends in one generation and not in ten."
    ),
    "preparing": (
        "-> PreparingRebalance. Everybody has to join again, within the longest rebalance timeout of "
        "all; a member that does not is removed."
    ),
    "formed": (
        "PreparingRebalance -> CompletingRebalance: all are in, the leader's assignment is missing. The "
        "assignor is elected: of those that all offer, each member votes for its first."
    ),
    "stable": "CompletingRebalance -> Stable.",
    "empty": "Without members the group is Empty; its commits stay for offsets.retention.minutes.",
    "session-expired": "No heartbeat for a whole session timeout: the coordinator considers it dead.",
    "killed": "Nobody is notified. Nobody reads its partitions until its session expires.",
    "static": (
        "A static member (group.instance.id, KIP-345) does not leave when it closes: it may come back "
        "within its session and keep what it had."
    ),
    "pause": (
        "Its process is frozen, so it sends no heartbeats; when it resumes, it does not know about the pause."
    ),
    "coordinator-moved": (
        "The new leader reads the partition from its beginning: generations, members and commits are "
        "there; a member that was just joining is not, and joins again."
    ),
    "created": (
        "Nobody is notified. Members that want it by name or by pattern find it in their next "
        "metadata (metadata.max.age.ms); then the group rebalances."
    ),
    "grown": (
        "Nobody is notified. The leader sees it in its next metadata (metadata.max.age.ms) and joins again."
    ),
    "settled": "Every group is stable, and every partition has one reader.",
    "zk-registered": (
        "It has a session with ZooKeeper. It writes its subscription into an ephemeral znode, which is "
        "gone when the session is, and watches the group's consumers, the brokers and its topics."
    ),
    "zk-watch": (
        "Everyone who watches hears of every change: that is the herd. A watch fires once and only "
        "says that something changed, so it is set again and the whole tree is read again."
    ),
    "zk-rebalance": (
        "There is no coordinator: each consumer reads the list of members, stops reading, deletes its owner "
        "znodes, computes the same assignment as all others, and claims its share."
    ),
    "zk-retry": (
        "Somebody else's owner znode was still there, or the tree changed while it was read: their "
        "views differ. It backs off for rebalance.backoff.ms and tries again; nobody reads these "
        "partitions meanwhile."
    ),
    "zk-given-up": ("After rebalance.max.retries it owns nothing, and nothing happens until a watch fires."),
    "zk-claimed": "An ephemeral owner znode stands for each partition.",
    "zk-expired": (
        "ZooKeeper did not hear of it for its session timeout: its znodes are gone, and the others take "
        "over. It does not know: as long as it reads on, there are two owners (split brain)."
    ),
}
"""Subject -> text; `{}` fields are filled in by the story."""
