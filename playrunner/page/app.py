"""Addresses of the page and what answers them."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from playrunner.errors import PlayrunnerError
from playrunner.page import actions, clusters_pages, runs_pages, training_pages
from playrunner.page.access import Access
from playrunner.page.rendering import STATIC
from playrunner.page.reports import plotly_script
from playrunner.page.site import Site, site_of

_KEPT = {"cache-control": "private, max-age=3600"}


def application(site: Site) -> Starlette:
    app = Starlette(
        routes=[
            Route("/", lambda request: RedirectResponse("/runs", 303)),
            *runs_pages.ROUTES,
            *training_pages.ROUTES,
            *clusters_pages.ROUTES,
            *actions.ROUTES,
            Route("/static/plotly.js", charts),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Access, keys=site.keys)],
        exception_handlers={PlayrunnerError: refused, HTTPException: not_there},
    )
    app.state.site = site
    return app


def charts(request: Request) -> Response:
    return FileResponse(plotly_script(), media_type="text/javascript", headers=_KEPT)


def refused(request: Request, error: Any) -> Response:
    return _problem(request, str(error), 404)


def not_there(request: Request, error: Any) -> Response:
    return _problem(request, str(error.detail), int(error.status_code))


def _problem(request: Request, text: str, status: int) -> Response:
    return site_of(request).page(request, "problem.html", text=text, code=status)
