"""Pages about runs of playbooks: the list, one run, one step, two runs side by side."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from playrunner.errors import BadInput
from playrunner.page.records.run_comparison import compared
from playrunner.page.records.run_list import STATES, chosen
from playrunner.page.records.run_steps import ORDER, output_of, outputs_of
from playrunner.page.records.run_steps import chosen as chosen_steps
from playrunner.page.records.timeline import WIDTH, lanes
from playrunner.page.reports import download, run_report
from playrunner.page.site import site_of

MOST_ROWS = 1000
MOST_STEPS = 200
MOST_FAILURES = 20  # that are shown with their output


def list_runs(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    text, state = query.get("q", ""), query.get("state", "")
    rows = site.runs.rows()
    matching_rows = chosen(rows, text, state)
    return site.page(
        request,
        "runs.html",
        rows=matching_rows[:MOST_ROWS],
        found=len(matching_rows),
        total=len(rows),
        text=text,
        state=state,
        states=(*STATES, "check"),
    )


def one_run(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    row = site.runs.find(request.path_params["run_id"])
    steps = site.steps(row)
    text, status, host = query.get("q", ""), query.get("status", ""), query.get("host", "")
    matching_results = chosen_steps(steps.results, text, status, host)
    number = _page_number(query.get("page", "1"), len(matching_results))
    failures = steps.failures
    drawn, left_out = lanes(steps)
    return site.page(
        request,
        "run.html",
        row=row,
        steps=steps,
        lanes=drawn,
        lanes_left_out=left_out,
        width=WIDTH,
        failures=[
            (result, *output_of(row.record.folder, steps.results, result.number))
            for result in failures[:MOST_FAILURES]
        ],
        failure_count=len(failures),
        found=matching_results[(number - 1) * MOST_STEPS : number * MOST_STEPS],
        found_count=len(matching_results),
        text=text,
        status=status,
        host=host,
        statuses=ORDER,
        number=number,
        pages=max(1, -(-len(matching_results) // MOST_STEPS)),
    )


def one_step(request: Request) -> Response:
    site = site_of(request)
    row = site.runs.find(request.path_params["run_id"])
    steps, number = site.steps(row), request.path_params["number"]
    result = next((each for each in steps.results if each.number == number), None)
    if result is None:
        raise BadInput(f"run {row.run_id} has no result number {number}")
    output, diff = output_of(row.record.folder, steps.results, number)
    return site.page(request, "step.html", row=row, result=result, output=output, diff=diff)


def compare_runs(request: Request) -> Response:
    site = site_of(request)
    names = request.query_params.getlist("run")
    if len(names) != 2:
        raise BadInput("choose two runs of the list to compare them")
    # The older one first, in whichever order they were chosen
    left, right = (site.runs.find(name) for name in sorted(names))
    comparison = compared(site.steps(left).results, site.steps(right).results)
    return site.page(
        request,
        "runs_compared.html",
        left=left,
        right=right,
        rows=comparison.differences[:MOST_ROWS],
        same=comparison.same,
        differences=len(comparison.differences),
    )


def report(request: Request) -> Response:
    site = site_of(request)
    row = site.runs.find(request.path_params["run_id"])
    return download(run_report(row, site.steps(row)), f"{row.run_id}.html")


def changes(request: Request) -> Response:
    """What --check would change, or what was changed, with every diff of a run on one page."""
    site = site_of(request)
    row = site.runs.find(request.path_params["run_id"])
    steps = site.steps(row)
    diffs = []
    for host, results in steps.by_host().items():
        if any(result.status == "changed" for result in results):
            outputs = outputs_of(row.record.folder, host, results)
            diffs += [
                (result, outputs.get(result.number, ("", ""))[1])
                for result in results
                if result.status == "changed"
            ]
    return site.page(request, "changes.html", row=row, changes=diffs[:MOST_ROWS], count=len(diffs))


ROUTES = [
    Route("/runs", list_runs),
    Route("/runs/compare", compare_runs),
    Route("/runs/{run_id}", one_run),
    Route("/runs/{run_id}/changes", changes),
    Route("/runs/{run_id}/steps/{number:int}", one_step),
    Route("/runs/{run_id}/report.html", report),
]


def _page_number(text: str, count: int) -> int:
    number = int(text) if text.isdecimal() and len(text) < 9 else 1
    return min(max(1, number), max(1, -(-count // MOST_STEPS)))
