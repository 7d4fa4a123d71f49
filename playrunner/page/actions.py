"""Actions on runs and nodes: asked for on a page of their own, confirmed, and recorded like a
run."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen
from playrunner.page.access import same_origin
from playrunner.page.site import Site, site_of
from playrunner.page.verb_process import Answer, run_verb
from playrunner.record.ledger import Ledger
from playrunner.results import Recap, Result

MOST_BYTES = 65536  # of a form
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")


@frozen
class Action:
    """One thing that a page can do."""

    verb: str
    text: str  # what it does, with {target}
    fields: tuple[tuple[str, str, str], ...] = ()  # name, label, kind of input
    takes_yes: bool = True


TRAINING = {
    "stop": Action("train.stop", "Save a checkpoint of {target} and stop it on all its nodes."),
    "resume": Action("train.resume", "Continue {target} from its newest complete checkpoint."),
    "scale": Action(
        "train.scale",
        "Change the number of nodes of {target}; it continues from a checkpoint.",
        (("nodes", "number of nodes", "number"),),
    ),
}
NODES = {
    "quarantine": Action(
        "nodes.quarantine",
        "Put {target} aside: no new run uses it until its time is over.",
        (("reason", "reason", "text"), ("ttl", "for how long (90m, 24h, 3d)", "text")),
        takes_yes=False,
    ),
    "release": Action("nodes.release", "Let runs use {target} again.", takes_yes=False),
}


def words_of(action: Action, target: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """The command line of an action; what was typed is checked here."""
    if action.verb.startswith("nodes."):
        if not _NODE.fullmatch(target):
            raise BadInput(f'"{target}" is no name of a node')
        if action.verb == "nodes.release":
            return (action.verb, target)
        reason = " ".join(given.get("reason", "").split())
        if not reason:
            raise BadInput("a quarantine needs a reason")
        ttl = given.get("ttl", "") or "24h"
        return (action.verb, target, f"--reason={reason[:200]}", f"--ttl={ttl[:10]}")
    words: tuple[str, ...] = (action.verb, f"--name={target}")
    if action.verb == "train.scale":
        nodes = given.get("nodes", "")
        if not nodes.isdecimal() or not 0 < int(nodes[:6]) <= 100_000:
            raise BadInput("the number of nodes must be 1 or more")
        words += (f"--nodes={int(nodes[:6])}",)
    return words if action.verb == "train.stop" else (*words, "--detach")


def confirm(request: Request) -> Response:
    """What would be done, with a button that does it; nothing happens yet."""
    site, action, target = _asked(request)
    return site.page(
        request,
        "confirm.html",
        action=action,
        target=target,
        text=action.text.format(target=target),
        back=_back(request, target),
    )


async def perform(request: Request) -> Response:
    site, action, target = _asked(request)
    given = await _form(request)
    session = request.scope.get("state", {}).get("session", "")
    if not same_origin(request.headers) or not site.keys.is_form_token(
        session, given.get("form_token", "")
    ):
        return PlainTextResponse("this form is not one of this page\n", 403)
    words = words_of(action, target, given)
    answer, run_id = await run_in_threadpool(recorded, site, words, action)
    return site.page(
        request,
        "done.html",
        answer=answer,
        run_id=run_id,
        back=_back(request, target),
        code=200 if not answer.code else 502,
    )


def recorded(site: Site, words: tuple[str, ...], action: Action) -> tuple[Answer, str]:
    """Run the verb; that it was asked for on the page and how it ended is a run of the list."""
    begun = time.monotonic()
    ledger = Ledger(f"page: {' '.join(words)}")
    ledger.intend("localhost", action.verb, action.verb, "page")
    answer = run_verb(words, site.options, yes=action.takes_yes)
    seconds = time.monotonic() - begun
    status = "failed" if answer.code else "changed" if answer.data.get("changed", True) else "ok"
    values = {"changed": status == "changed", "msg": answer.error}
    result = Result(
        "localhost", action.verb, action.verb, status, values, round(seconds, 3), Place("page")
    )
    ledger.add_result(result)
    recap = Recap()
    recap.add(result)
    ledger.close(recap, answer.code, seconds)
    return answer, ledger.run_id


ROUTES = [
    Route("/training/{target}/do/{action}", confirm, methods=["GET"]),
    Route("/training/{target}/do/{action}", perform, methods=["POST"]),
    Route("/nodes/{target}/do/{action}", confirm, methods=["GET"]),
    Route("/nodes/{target}/do/{action}", perform, methods=["POST"]),
]


def _asked(request: Request) -> tuple[Site, Action, str]:
    site = site_of(request)
    if not site.allow_actions:
        raise BadInput("this page only shows; start it with --allow-actions to act")
    target = request.path_params["target"]
    of_training = request.url.path.startswith("/training/")
    action = (TRAINING if of_training else NODES).get(request.path_params["action"])
    if action is None:
        raise BadInput("there is no such action")
    if of_training:
        site.training.find(target)
    return site, action, target


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; one that is too long has none."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return {}
    try:
        fields = parse_qs(body.decode(errors="replace"), max_num_fields=20)
    except ValueError:
        return {}
    return {name: values[0] for name, values in fields.items()}


def _back(request: Request, target: str) -> str:
    of_training = request.url.path.startswith("/training/")
    return request.url.path.rpartition("/do/")[0] if of_training else "/clusters/nodes"
