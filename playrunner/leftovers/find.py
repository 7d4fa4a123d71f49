"""Find everything in the account and region that belongs to a stack, by its tag, its VPC or what
created it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from playrunner.aws.client import Aws
from playrunner.aws.home_region import home_region
from playrunner.cloud.owner import CLUSTER, EXPIRES, RUN, WHO, is_kept
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import HostUnreachable
from playrunner.leftovers.aws.kind import Kind
from playrunner.leftovers.aws.kinds import KINDS
from playrunner.leftovers.aws.stacks import Claim, Stacks, arn_type, read_stacks
from playrunner.leftovers.leftover import GLOBAL, UNSEEN, Leftover, ServiceResource, started

AT_ONCE = 8  # kinds looked at side by side
# Types that may have our tag and are deleted with what they are a part of.
GO_WITH_OTHERS = {
    "ec2:security-group-rule",
    "ec2:spot-instances-request",
    "elasticloadbalancing:listener",
    "elasticloadbalancing:listener-rule",
}

# How tags begin that services write by themselves on what they put into a network.
OF_SERVICES = ("aws:", "eks:eni:", "node.k8s.amazonaws.com/", "GuardDutyManaged")


def find(aws: Aws, owner_cluster: str | None, known_as: Iterable[str] = ()) -> list[Leftover]:
    """What is left of one stack, or with None of every stack that left a tag. Read-only.

    `known_as` are names that the stack's Kubernetes clusters had, where they differ from its own:
    what they made is still known by those once they are gone.
    """
    aws.refresh()
    stacks = read_stacks(aws, owner_cluster, known_as)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="leftovers") as pool:
        groups = list(pool.map(lambda kind: _of_kind(aws, kind, stacks), KINDS))
    leftovers = {
        (leftover.kind, leftover.within, leftover.id): leftover
        for group in groups
        for leftover in reversed(group)
    }
    leftovers |= {
        (leftover.kind, "", leftover.id): leftover for leftover in _of_no_kind(aws, stacks)
    }
    order = {kind.name: number for number, kind in enumerate(KINDS)}
    return sorted(
        leftovers.values(),
        key=lambda leftover: (
            leftover.cluster,
            order.get(leftover.kind, len(order)),
            leftover.name,
            leftover.id,
        ),
    )


def _of_kind(aws: Aws, kind: Kind, stacks: Stacks) -> list[Leftover]:
    try:
        claimed = [(thing, stacks.claim(thing)) for thing in kind.things(aws, stacks)]
    except (Refused, Unanswered, HostUnreachable) as error:
        return [_unseen(aws, stacks, kind.service, kind.name, str(error))]
    return [
        _leftover(aws, kind, thing, claim)
        for thing, claim in claimed
        # Of all stacks those of this region are asked for; of one, wherever its identities are.
        if claim and (stacks.wanted is not None or _home(aws, kind, thing) == aws.region)
    ]


def _contents(aws: Aws, kind: Kind, thing: ServiceResource) -> str:
    try:
        return kind.contents(aws, thing)
    except (Refused, Unanswered, HostUnreachable) as error:
        return f"holds what cannot be looked at ({error})"


def _is_of_others(kind: Kind, thing: ServiceResource) -> bool:
    """Whether a thing that is merely in our network may be somebody's: it does work or holds data,
    or somebody tagged it. A bare interface, group or route is what services leave."""
    tagged = any(key != "Name" and not key.startswith(OF_SERVICES) for key in thing.tags)
    return kind.holds_user_data or kind.does_work or tagged


def _home(aws: Aws, kind: Kind, thing: ServiceResource) -> str:
    """The region of the stack that a thing belongs to."""
    return (home_region({**thing.raw, "Tags": thing.tags}) if kind.is_global else "") or aws.region


def _leftover(aws: Aws, kind: Kind, thing: ServiceResource, claim: Claim) -> Leftover:
    tags = thing.tags if claim.owned else {}
    stays, why, home = False, claim.why, _home(aws, kind, thing)
    others = claim.by_place and _is_of_others(kind, thing)
    if others:
        stays = True
        why += (
            ", but nothing shows that we created it: delete it yourself, tag it, or name it with"
            f" --also {thing.id}"
        )
    elif home != aws.region:
        stays = True
        why = f"belongs to this stack in {home}: tear it down there (aws_region={home})"
    run = tags.get(RUN, "")
    contents = _contents(aws, kind, thing)
    return Leftover(
        kind.service,
        kind.name,
        thing.id,
        thing.name,
        aws.region if not kind.is_global else GLOBAL if home == aws.region else home,
        claim.stack,
        run,
        tags.get(WHO, ""),
        tags.get(EXPIRES, ""),
        thing.since or started(run),
        why,
        thing.monthly_dollars,
        claim.owned,
        by_tag=claim.owned and not stays,
        stays=stays,
        within=thing.within,
        vpc=thing.vpc or (thing.id if kind.name == "VPC" else ""),
        kept=is_kept(tags),
        contents=contents,
        emptied=bool(contents) and kind.emptied(thing),
        others=others,
    )


def _of_no_kind(aws: Aws, stacks: Stacks) -> Iterable[Leftover]:
    """What the tagging API lists with our tag and no kind knows."""
    known = {kind.arn for kind in KINDS} | GO_WITH_OTHERS
    for arn, tags in stacks.marked.items():
        if arn_type(arn) not in known:
            yield Leftover(
                arn.split(":")[2],
                arn_type(arn),
                arn,
                tags.get("Name", ""),
                arn.split(":")[3] or aws.region,
                tags.get(CLUSTER, ""),
                tags.get(RUN, ""),
                tags.get(WHO, ""),
                tags.get(EXPIRES, ""),
                started(tags.get(RUN, "")),
                "tagged as ours, but of a kind that is not known here: delete it yourself",
                None,
                True,
                stays=True,
                kept=is_kept(tags),
            )
    if stacks.blind:
        yield _unseen(
            aws, stacks, "resourcegroupstaggingapi", "what only the tagging API lists", stacks.blind
        )


def _unseen(aws: Aws, stacks: Stacks, service: str, what: str, why: str) -> Leftover:
    """Silence is not absence: what could not be looked at may be there."""
    return Leftover(
        service, UNSEEN, what, "", aws.region, stacks.wanted or "", why=why, owned=False, stays=True
    )
