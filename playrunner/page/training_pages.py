"""Pages about training: the list, one run with its curves and logs, several runs on one axis."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from playrunner.errors import BadInput
from playrunner.page.records.curves import curves
from playrunner.page.records.network import read_network
from playrunner.page.records.rank_log import log_lines, marks
from playrunner.page.records.training_runs import TrainingRun, read_environment
from playrunner.page.rendering import clock, dollars, figure, span
from playrunner.page.reports import download, training_report
from playrunner.page.site import Site, site_of
from playrunner.page.verb_process import run_verb

MOST_COMPARED = 12
POLL_SECONDS = 1.0
QUIET_SECONDS = 15.0  # then a comment is sent, so that a closed browser is noticed


def list_training(request: Request) -> Response:
    site = site_of(request)
    every = site.training.all(_live(site))
    text, state = request.query_params.get("q", ""), request.query_params.get("state", "")
    runs = [
        run
        for run in every
        if text.lower() in f"{run.name} {run.job.get('profile', '')}".lower()
        and (not state or run.state == state)
    ]
    return site.page(
        request,
        "training.html",
        runs=runs,
        total=len(every),
        states=sorted({run.state for run in every}),
        text=text,
        state=state,
        silent=site.live.silent,
    )


def one_training(request: Request) -> Response:
    site = site_of(request)
    run = _run(site, request)
    return site.page(
        request, "training_run.html", charts=True, **run_values(run), silent=site.live.silent
    )


def run_values(run: TrainingRun) -> dict[str, Any]:
    """What the page and the report of a run show."""
    lines, ranks = log_lines(run.folder, most=100)
    return {
        "run": run,
        "facts": summary(run),
        "network": read_network(run.folder),
        "variables": read_environment(run.folder),
        "marks": marks(run.folder, run.hosts),
        "lines": lines,
        "ranks": ranks,
    }


def summary(run: TrainingRun) -> dict[str, str]:
    """The figures at the top of a run, as they are shown."""
    left = run.seconds_left
    return {
        "state": run.state,
        "step": f"{run.step:,} of {run.steps:,}" if run.steps else f"{run.step:,}",
        "loss": figure(run.last.get("loss")),
        "tokens/s": figure(run.last.get("tokens_per_second")),
        "time left": f"about {span(left)}" if left is not None else "-",
        "ends": "-" if left is None else clock(time.time() + left)[:-3],
        "age": span(run.age),
        "cost": dollars(run.cost),
    }


def compare_training(request: Request) -> Response:
    site = site_of(request)
    names = list(dict.fromkeys(request.query_params.getlist("run")))[:MOST_COMPARED]
    if not names:
        raise BadInput("choose runs of the list to compare them")
    runs = [site.training.find(name) for name in names]
    shown = [(run, summary(run)) for run in runs]
    return site.page(request, "training_compared.html", charts=True, runs=shown)


def curve_data(request: Request) -> Response:
    """The curves of the runs that are named, for the chart."""
    site = site_of(request)
    names = list(dict.fromkeys(request.query_params.getlist("run")))[:MOST_COMPARED]
    return JSONResponse([run_curves(site.training.find(name)) for name in names])


def run_curves(run: TrainingRun) -> dict[str, Any]:
    metrics = run.metrics
    return {
        "name": run.name,
        "generation": metrics.generation,
        "count": len(metrics),
        "series": curves(metrics),
        "ranks": metrics.ranks.as_data(),
        "marks": [
            *marks(run.folder, run.hosts),
            *(
                {"step": step, "kind": "phase", "text": f"phase {phase}"}
                for step, phase in metrics.phases
                if len(metrics.phases) > 1  # one alone tells nothing
            ),
        ],
    }


def logs(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    run = _run(site, request)
    rank, text = query.get("rank", ""), query.get("q", "")
    lines, ranks = log_lines(run.folder, rank, text)
    return site.page(request, "logs.html", run=run, lines=lines, ranks=ranks, rank=rank, text=text)


def why(request: Request) -> Response:
    """The diagnosis, for which every node is asked."""
    site = site_of(request)
    run = _run(site, request)
    answer = run_verb(("train.why", f"--name={run.name}"), site.options)
    return site.page(request, "why.html", run=run, answer=answer)


def report(request: Request) -> Response:
    run = _run(site_of(request), request)
    values = {**run_values(run), "curves": [run_curves(run)]}
    return download(training_report(values), f"{run.name}.html")


async def events(request: Request) -> Response:
    """New points as they are recorded, as server-sent events."""
    site = site_of(request)
    name = request.path_params["name"]
    await run_in_threadpool(site.training.find, name)
    return StreamingResponse(_stream(site, name, request), media_type="text/event-stream")


async def _stream(site: Site, name: str, request: Request) -> AsyncIterator[str]:
    sent = _whole_number(request.query_params.get("from", "0"))
    generation = _whole_number(request.query_params.get("generation", "0"))
    facts: dict[str, str] = {}
    compared, quiet = _whole_number(request.query_params.get("compared", "0")), 0.0
    while not await request.is_disconnected():
        try:
            run = await run_in_threadpool(lambda: site.training.find(name, _live(site)))
        except BadInput:
            return
        metrics = await run_in_threadpool(run.read)
        if metrics.generation != generation or len(metrics) < sent:
            yield _event("reset", {})
            generation, sent = metrics.generation, len(metrics)
        elif len(metrics) > sent:
            yield _event("points", {"name": name, "series": curves(metrics, since=sent)})
            sent = len(metrics)
        if metrics.ranks.count != compared:
            compared = metrics.ranks.count
            yield _event("ranks", {"name": name, "ranks": metrics.ranks.as_data()})
        if (now := summary(run)) != facts:
            facts = now
            yield _event("facts", now)
            quiet = 0.0
        quiet += POLL_SECONDS
        if quiet >= QUIET_SECONDS:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(POLL_SECONDS)


ROUTES = [
    Route("/training", list_training),
    Route("/training/compare", compare_training),
    Route("/training/curves.json", curve_data),
    Route("/training/{name}", one_training),
    Route("/training/{name}/events", events),
    Route("/training/{name}/logs", logs),
    Route("/training/{name}/why", why),
    Route("/training/{name}/report.html", report),
]


def _live(site: Site) -> dict[str, Any]:
    """The nodes are asked only where a run is not known to have ended."""
    return site.live.runs() if site.training_goes_on() else site.live.known


def _run(site: Site, request: Request) -> TrainingRun:
    return site.training.find(request.path_params["name"], _live(site))


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def _whole_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 12 else 0
