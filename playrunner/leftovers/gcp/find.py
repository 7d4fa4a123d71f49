"""Find everything in the project that is a stack's, by its label or the cluster that created it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from playrunner.cloud.owner import EXPIRES, RUN, WHO
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import HostUnreachable
from playrunner.gcp.client import Gcp
from playrunner.leftovers.aws.stacks import Claim
from playrunner.leftovers.gcp.kind import GcpKind, place_of
from playrunner.leftovers.gcp.kinds import KINDS
from playrunner.leftovers.gcp.stacks import GcpStacks, read_stacks
from playrunner.leftovers.leftover import GLOBAL, UNSEEN, Leftover, ServiceResource, started

AT_ONCE = 8  # kinds looked at side by side


def find(gcp: Gcp, owner_cluster: str | None, known_as: Iterable[str] = ()) -> list[Leftover]:
    """What is left of one stack, or with None of every stack that left a label. Read-only."""
    gcp.refresh()
    stacks = read_stacks(gcp, owner_cluster, known_as)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="leftovers") as pool:
        groups = list(pool.map(lambda kind: _of_kind(gcp, kind, stacks), KINDS))
    order = {kind.name: number for number, kind in enumerate(KINDS)}
    leftovers = [leftover for group in groups for leftover in group]
    return sorted(
        leftovers,
        key=lambda leftover: (
            leftover.cluster,
            order.get(leftover.kind, len(order)),
            leftover.name,
            leftover.id,
        ),
    )


def _of_kind(gcp: Gcp, kind: GcpKind, stacks: GcpStacks) -> list[Leftover]:
    try:
        claimed = [(thing, stacks.claim(thing)) for thing in kind.things(gcp, stacks)]
    except (Refused, Unanswered, HostUnreachable) as error:
        if isinstance(error, Refused) and error.code == "SERVICE_DISABLED":
            return []  # an API that was never on holds nothing
        # Silence is not absence: what could not be looked at may be there.
        return [
            Leftover(
                kind.service,
                UNSEEN,
                kind.name,
                "",
                gcp.region,
                stacks.wanted or "",
                why=str(error),
                owned=False,
                stays=True,
            )
        ]
    return [_leftover(kind, thing, claim) for thing, claim in claimed if claim]


def _leftover(kind: GcpKind, thing: ServiceResource, claim: Claim) -> Leftover:
    tags, run = (thing.tags if claim.owned else {}), thing.tags.get(RUN, "") if claim.owned else ""
    return Leftover(
        kind.service,
        kind.name,
        thing.id,
        thing.name,
        place_of(thing.id) or GLOBAL,
        claim.stack,
        run,
        tags.get(WHO, ""),
        tags.get(EXPIRES, ""),
        thing.since or started(run),
        claim.why,
        thing.monthly_dollars,
        claim.owned,
        by_tag=claim.owned,
    )
