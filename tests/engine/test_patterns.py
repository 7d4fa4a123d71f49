"""Host patterns and limits."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from playrunner.errors import BadInput, Place
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.inventory.patterns import select

TEXT = """
all:
  hosts: {q: , lone: }
  children:
    gpu:
      hosts: {"node[01:06]": }
      children: {deep: {hosts: {d1: , d2: }}}
    ready: {hosts: {node03: , node01: , x.example.com: }}
    bad: {hosts: {node01: }}
    v6: {hosts: {"2001:db8::1": }}
    deepest: {hosts: {q: }}
"""
NODES = [f"node0{number}" for number in range(1, 7)]
GPU = [*NODES, "d1", "d2"]
ALL = ["q", "lone", *NODES, "x.example.com", "2001:db8::1", "d1", "d2"]

MEANINGS: dict[str, list[str]] = {
    "all": ALL,
    "*": ALL,
    "gpu": GPU,
    "ungrouped": ["lone"],
    "node01:node02": ["node01", "node02"],
    "ready,gpu": [
        "node03",
        "node01",
        "x.example.com",
        "node02",
        "node04",
        "node05",
        "node06",
        "d1",
        "d2",
    ],
    "ready:deep": ["node03", "node01", "x.example.com", "d1", "d2"],
    "gpu:&ready:!bad": ["node03"],
    "!gpu:ready": ["x.example.com"],
    "gpu:&ready:deep": ["node01", "node03"],
    "!bad": [name for name in ALL if name != "node01"],
    "&ready": ["node01", "node03", "x.example.com"],
    "&gpu:&ready": ["node01", "node03"],
    "all:!all": [],
    " gpu , ready ": [*GPU, "x.example.com"],
    "gpu[0]": ["node01"],
    "gpu[-1]": ["d2"],
    "gpu[0:2]": ["node01", "node02", "node03"],
    "gpu[0:0]": ["node01"],
    "gpu[5:]": ["node06", "d1", "d2"],
    "gpu[6:99]": ["d1", "d2"],
    "gpu[1:2]:&ready": ["node03"],
    "gpu[0],ready[0]": ["node01", "node03"],
    "all[0:1]:!q": ["lone"],
    "node*[0]": ["node01"],
    "v6[0]": ["2001:db8::1"],
    "node0?": NODES,
    "node0[!1]": NODES[1:],
    "*.example.com": ["x.example.com"],
    "de*": ["d1", "d2", "q"],
    "~node0[12]": ["node01", "node02"],
    r"~(node|d)\d+": GPU,
    "~gp": GPU,
    "2001:db8::1": ["2001:db8::1"],
    "localhost": ["localhost"],
    "127.0.0.1": ["localhost"],
    "all:localhost": [*ALL, "localhost"],
    "!localhost": ALL,
    "nothing": [],
    "node01:22": [],
    "GPU": [],
    "x.example.com:!nobody": ["x.example.com"],
}


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    (tmp_path / "i.yaml").write_text(TEXT)
    return read_inventory([tmp_path / "i.yaml"])


@pytest.mark.parametrize("pattern", MEANINGS)
def test_a_pattern_selects_hosts_in_order(pattern: str, inventory: Inventory) -> None:
    assert select(inventory, pattern) == MEANINGS[pattern]


@pytest.mark.skipif(find_spec("ansible") is None, reason="ansible-core is not installed")
def test_patterns_mean_what_they_mean_to_ansible(inventory: Inventory) -> None:
    program = """if True:
        import json, sys
        from ansible.inventory.manager import InventoryManager
        from ansible.parsing.dataloader import DataLoader
        manager = InventoryManager(loader=DataLoader(), sources=[sys.argv[1]])
        patterns = json.loads(sys.argv[2])
        print(json.dumps({p: [h.name for h in manager.list_hosts(p)] for p in patterns}))
    """
    asked = [str(inventory.files[0].absolute()), json.dumps(list(MEANINGS))]
    done = subprocess.run(
        [sys.executable, "-c", program, *asked],
        capture_output=True,
        text=True,
        check=True,
        cwd=inventory.directory,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {
        pattern: select(inventory, pattern) for pattern in MEANINGS
    }


def test_a_list_of_patterns_is_one_pattern(inventory: Inventory) -> None:
    assert select(inventory, ["gpu", "!node*", "lone"]) == ["d1", "d2", "lone"]


def test_a_colon_inside_a_regular_expression_does_not_split_it(inventory: Inventory) -> None:
    assert select(inventory, r"~(?:node0[12]|d\d):!d2") == ["node01", "node02", "d1"]


def test_a_listed_localhost_is_found_under_its_other_names(tmp_path: Path) -> None:
    (tmp_path / "i.ini").write_text("127.0.0.1\n")
    assert select(read_inventory([tmp_path / "i.ini"]), "localhost") == ["127.0.0.1"]


def test_a_limit_narrows_and_keeps_the_order_of_the_pattern(inventory: Inventory) -> None:
    assert select(inventory, "gpu", limit="d1,node0[!1],!node05") == [
        "node02",
        "node03",
        "node04",
        "node06",
        "d1",
    ]
    assert select(inventory, "gpu", limit="!deep") == NODES
    assert select(inventory, "localhost", limit="gpu") == []
    assert select(inventory, "localhost", limit="localhost") == ["localhost"]
    assert select(inventory, "all", limit="none*") == []
    assert select(inventory, "gpu", limit="ready[0]") == ["node03"]


def test_a_limit_can_be_read_from_a_file(inventory: Inventory, tmp_path: Path) -> None:
    (tmp_path / "failed.retry").write_text("node02\n# by hand\n\n d1 \n")
    assert select(inventory, "gpu", limit=f"@{tmp_path / 'failed.retry'}") == ["node02", "d1"]
    assert select(inventory, "gpu", limit=f"node01,@{tmp_path / 'failed.retry'}") == [
        "node01",
        "node02",
        "d1",
    ]


def test_an_unknown_name_in_a_limit_is_refused_with_the_nearest(
    inventory: Inventory, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match='no host or group is called "node1"; did you mean "node01"'):
        select(inventory, "all", limit="gpu,!node1")
    (tmp_path / "limit").write_text("node01\nraedy\n")
    with pytest.raises(BadInput, match='did you mean "ready"') as refused:
        select(inventory, "all", limit=f"@{tmp_path / 'limit'}")
    assert refused.value.place == Place(str(tmp_path / "limit"), 2)
    with pytest.raises(BadInput, match="Unable to find limit file missing"):
        select(inventory, "all", limit="@missing")
    with pytest.raises(BadInput, match="must be a file, not a directory"):
        select(inventory, "all", limit=f"@{tmp_path}")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("gpu[8]", '"gpu" has 8 hosts, counted from 0'),
        ("bad[-2]", '"bad" has 1 host,'),
        ("~(", "not a valid regular expression"),
    ],
)
def test_an_impossible_pattern_is_refused(pattern: str, said: str, inventory: Inventory) -> None:
    with pytest.raises(BadInput) as refused:
        select(inventory, pattern)
    assert said in str(refused.value)
