"""Clusters and money in the browser: a real network in the pretend AWS, and nodes put aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.support.aws.sandbox import PretendAws
from tests.support.page import PageServer, no_overflow
from tests.support.runner import invoke

NODES = "all: {hosts: {alpha: {ansible_host: 127.0.0.1}, beta: {ansible_host: 127.0.0.1}}}"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Page]:
    """The page of an inventory with two hosts and a network that was created."""
    pytest.importorskip("moto")
    from playrunner.sandbox.aws.api import process

    folder = tmp_path_factory.mktemp("clusters")
    aws = PretendAws(folder / "aws")
    aws.delays(**{"*": 0.0})
    variables: dict[str, Any] = {
        "cluster_name": "drill",
        "aws_region": aws.up.region,
        "aws_endpoint_url": aws.up.endpoint_url,
        "aws_profile": "sandbox",
        "aws_credentials_file": str(aws.root / "aws-credentials"),
        "eks_kubeconfig_path": str(folder / "kubeconfig"),
        "kube_context": "",
    }
    inventory, state = folder / "inventory.yaml", folder / "state"
    inventory.write_text(
        yaml.safe_dump({"all": {**yaml.safe_load(NODES)["all"], "vars": variables}})
    )
    try:
        made = invoke("network.create", f"--inventory={inventory}", "--ttl=8h", state=state)
        assert made.code == 0, made.text
        put_something_of_others_into_the_network(aws)
        words = (f"--inventory={inventory}", "--allow-actions", "--interval=0")
        with PageServer(state, *words) as server:
            page = server.opened(browser)
            page.set_default_timeout(120_000)
            yield page
    finally:
        process.down(folder / "aws")


def put_something_of_others_into_the_network(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    mine = [{"Name": "tag:playrunner:cluster", "Values": ["drill"]}]
    tags = [{"Key": "owner", "Value": "another team"}]
    ec2.create_security_group(
        GroupName="theirs <b>bold</b>",
        Description="theirs",
        VpcId=ec2.describe_vpcs(Filters=mine)["Vpcs"][0]["VpcId"],
        TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
    )


def asked(page: Page, title: str) -> None:
    page.get_by_role("link", name="Clusters and money").first.click()
    page.get_by_role("link", name=title, exact=True).click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.locator(".notice.bad")).to_have_count(0)


def test_resources_are_listed_by_role_with_age_owner_expiry_and_dollars(clusters: Page) -> None:
    asked(clusters, "Resources")
    network = clusters.get_by_role("region", name="Resources of network")
    gateway = network.get_by_role("row").filter(has_text="aws.nat_gateway").first
    expect(gateway).to_contain_text("$0.0450")
    expect(gateway).to_contain_text("there")
    titles = network.get_by_role("columnheader").all_inner_texts()
    cells = dict(zip(titles, gateway.locator("th, td").all_inner_texts(), strict=True))
    assert cells["owner"] and cells["expires"] > cells["since"] > "2020", cells
    assert cells["so far"].startswith("$")
    facts = clusters.locator(".facts")
    expect(facts).to_contain_text("an hour")
    expect(facts).to_contain_text("so far")


def test_the_account_shows_each_stack_with_owner_and_dollars(clusters: Page) -> None:
    asked(clusters, "Account")
    expect(clusters.get_by_role("heading", name="drill")).to_contain_text("an hour")
    row = clusters.get_by_role("row").filter(has_text="ec2 nat gateway").first
    expect(row).to_contain_text("$0.0450")
    expect(clusters.locator("main")).to_contain_text("nothing shows that we created it")
    clusters.set_viewport_size({"width": 400, "height": 800})
    assert no_overflow(clusters)
    clusters.set_viewport_size({"width": 1280, "height": 900})


def test_the_plan_of_a_teardown_is_a_tree_with_the_network_at_its_root(clusters: Page) -> None:
    asked(clusters, "Plan of a teardown")
    roots = clusters.locator("ul[role=tree] > li")
    vpc = roots.filter(has_text="vpc-").first
    assert "subnet-" in vpc.locator("ul[role=group]").first.inner_text()
    assert roots.count() < clusters.get_by_role("treeitem").count()
    theirs = vpc.locator("li.others")
    expect(theirs).to_contain_text("of others")
    expect(theirs).to_contain_text("theirs <b>bold</b>")
    name = theirs.inner_text().partition("security group ")[2].split()[0]
    expect(clusters.get_by_role("alert")).to_contain_text(f"--also {name}")
    expect(clusters.get_by_text(name, exact=False)).to_have_count(2)  # it is listed once


def test_a_node_is_put_aside_and_released_after_confirmations(clusters: Page) -> None:
    asked(clusters, "Nodes and quarantine")
    row = clusters.get_by_role("row").filter(has_text="alpha")
    row.get_by_role("link", name="Quarantine").click()
    clusters.get_by_label("reason").fill("ECC errors <b>again</b>")
    clusters.get_by_role("button", name="Yes, do it").click()
    expect(clusters.get_by_role("heading", name="Done")).to_be_visible()
    clusters.get_by_role("link", name="Back").click()
    expect(row).to_contain_text("ECC errors <b>again</b>")
    row.get_by_role("link", name="Release").click()
    clusters.get_by_role("button", name="Yes, do it").click()
    expect(clusters.get_by_role("heading", name="Done")).to_be_visible()
    clusters.get_by_role("link", name="Back").click()
    expect(row).to_contain_text("free")
    clusters.get_by_role("link", name="Runs", exact=True).click()
    expect(clusters.locator("table")).to_contain_text("page: nodes.quarantine alpha")
    expect(clusters.locator("table")).to_contain_text("page: nodes.release alpha")
