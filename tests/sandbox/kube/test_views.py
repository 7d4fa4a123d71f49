"""What controllers see of custom resources while their definitions come and go."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from playrunner.sandbox.kube.controllers.framework.client import Api
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEFINITIONS,
    Resource,
    uid_of,
)
from playrunner.sandbox.kube.controllers.framework.view import View
from playrunner.sandbox.kube.process import process
from tests.sandbox.kube.conformance.toys import definition
from tests.support.kube.client import MERGE_PATCH, Client
from tests.support.until import until

# Well below the 240 seconds after which a server ends a watch by itself
SOON = 20.0


class Toys:
    """A kind of our own, and a view of it."""

    def __init__(self, kube: Client, root: Path) -> None:
        self.kube, self.group = kube, f"{uuid.uuid4().hex[:8]}.example.com"
        self.resource = Resource(self.group, "v1", "toys", "Toy", custom=True)
        self.context = ControllerContext(Api(process.kubeconfig_file(root)), root)
        self.define()
        self.view: View = self.context.see(self.resource)

    def define(self) -> None:
        # One of this name may not have gone quite yet
        until(
            lambda: self.kube.call("POST", DEFINITIONS.path(), definition(self.group)).code == 201
        )
        until(lambda: self.kube.call("GET", self.resource.path()).code == 200)

    @property
    def definition(self) -> str:
        return DEFINITIONS.path("", self.resource.definition)

    def make(self, name: str, finalizers: tuple[str, ...] = ()) -> str:
        toy = {
            "apiVersion": self.resource.api_version,
            "kind": "Toy",
            "metadata": {"name": name, "finalizers": list(finalizers)},
            "spec": {"size": 1},
        }
        return uid_of(self.kube.ok("POST", self.resource.path("default"), toy))

    def sees(self, **uids: str) -> None:
        """The view has just these, soon."""
        until(
            lambda: {toy["metadata"]["name"]: uid_of(toy) for toy in self.view.all()},
            lambda seen: seen == uids,
            SOON,
        )


@pytest.fixture
def toys(kube: Client, pretend_root: Path) -> Toys:
    return Toys(kube, pretend_root)


def test_a_view_begins_anew_with_a_definition_that_was_made_anew(toys: Toys) -> None:
    """One that was stuck, since an object would not go, and that was deleted by force."""
    stuck = toys.make("stuck", ("example.com/never",))
    toys.sees(stuck=stuck)
    toys.kube.ok("DELETE", toys.definition)
    toys.kube.ok("PATCH", toys.definition, {"metadata": {"finalizers": []}}, form=MERGE_PATCH)
    toys.sees()
    assert not toys.view.served
    toys.define()
    other = toys.make("other")
    toys.sees(stuck=stuck, other=other)


def test_a_view_begins_anew_where_nobody_saw_that_the_definition_was_gone(toys: Toys) -> None:
    toys.sees(one=toys.make("one"))
    toys.kube.ok("DELETE", toys.definition)
    toys.define()
    toys.sees(two=toys.make("two"))


def test_a_version_that_is_not_served_for_a_while_shows_nothing_for_so_long(toys: Toys) -> None:
    one = toys.make("one")
    toys.sees(one=one)
    for served, seen in ((False, {}), (True, {"one": one})):
        versions = definition(toys.group, served=served)["spec"]["versions"]
        spare = {**versions[0], "name": "v2", "served": True, "storage": False}
        patch = {"spec": {"versions": [*versions, spare]}}
        toys.kube.ok("PATCH", toys.definition, patch, form=MERGE_PATCH)
        toys.sees(**seen)
