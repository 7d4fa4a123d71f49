"""Pages about clusters and money: each is the answer of a verb, asked for by a click."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.page.records.resources import by_role
from playrunner.page.site import site_of
from playrunner.page.verb_process import Answer, run_verb


@frozen
class Question:
    title: str
    words: tuple[str, ...]
    text: str  # what is asked, and of whom
    template: str
    beside: tuple[str, ...] = ()  # a second verb, asked at the same time


QUESTIONS = {
    "resources": Question(
        "Resources",
        ("status",),
        "What there is of this inventory's cluster, role by role, with age, owner, expiry and"
        " dollars an hour; asks the cloud.",
        "resources.html",
        ("audit",),
    ),
    "cost": Question(
        "Price of the plan",
        ("cost",),
        "What the inventory's plan costs by hour, day and month, from the price table.",
        "cost.html",
    ),
    "account": Question(
        "Account",
        ("audit", "--all"),
        "Everything with our tag in the account, by stack: age, owner, expiry, dollars an hour.",
        "account.html",
    ),
    "teardown": Question(
        "Plan of a teardown",
        ("teardown", "--check"),
        "What a teardown would delete, as a tree, and what it would keep; nothing is deleted.",
        "teardown.html",
    ),
    "nodes": Question(
        "Nodes and quarantine",
        ("nodes.list",),
        "Hosts of the inventory and nodes of its cluster, which of them are put aside and why.",
        "nodes.html",
    ),
}


def overview(request: Request) -> Response:
    site = site_of(request)
    runs = [run for run in site.training.all(site.live.runs()) if run.goes_on]
    occupied: dict[str, list[str]] = {}
    for run in runs:
        for host in run.hosts:
            occupied.setdefault(host, []).append(run.name)
    every = site.training.all({})
    return site.page(
        request,
        "clusters.html",
        questions=QUESTIONS,
        occupied=dict(sorted(occupied.items())),
        paid=[run for run in every if run.cost is not None],
        total=sum(run.cost or 0.0 for run in every),
    )


def question(request: Request) -> Response:
    site = site_of(request)
    asked = QUESTIONS.get(request.path_params["name"])
    if asked is None:
        raise BadInput("there is no such page")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(run_verb, asked.beside, site.options) if asked.beside else None
        answer = run_verb(asked.words, site.options)
    values = _priced(answer, second.result()) if second else {}
    return site.page(request, asked.template, question=asked, answer=answer, **values)


def _priced(status: Answer, audit: Answer) -> dict[str, Any]:
    groups = by_role(status.data, audit.data)
    return {
        "beside": audit,
        "groups": groups,
        "hourly": sum(group.total("hourly_dollars") for group in groups),
        "so_far": sum(group.total("dollars_so_far") for group in groups),
    }


ROUTES = [Route("/clusters", overview), Route("/clusters/{name}", question)]
