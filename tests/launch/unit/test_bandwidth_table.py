"""What all_reduce_perf prints, read and judged; and what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from playrunner.training.netcheck.bandwidth_files import chart, keep
from playrunner.training.netcheck.chart_svg import chart_svg
from playrunner.training.netcheck.judgement import ExpectedBandwidth, Judgement, judge_bandwidth
from playrunner.training.netcheck.perf_table import Measured, Row, read_table

P4DE = ExpectedBandwidth("p4de.24xlarge", hosts=2)


def printed(
    best: float = 78.3,
    wrong: int = 0,
    provider: str = "efa",
    cards: int = 4,
    gpus: tuple[int, int] = (8, 8),
    tagged: bool = False,
    ended: bool = True,
) -> str:
    """The output of two machines, in the shape of nccl-tests."""
    lines = [
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 2147483648 step: 2(factor) warmup iters: 5 iters:"
        " 100 validation: 1"
    ]
    lines += [
        f"#  Rank {rank:2d} Group  0 Pid   {30 + rank} on worker-{host} device {rank:2d} [0x10]"
        " NVIDIA A100-SXM4-80GB"
        for host, count in enumerate(gpus)
        for rank in range(count)
    ]
    if provider:
        lines += [
            f"worker-{host}:30:30 [0] NCCL INFO NET/OFI Selected Provider is {provider} (found"
            f" {cards} nics)"
            for host in (0, 1)
        ]
    else:
        lines.append("worker-0:30:30 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>")
    lines += [
        (
            "#      size         count      type   redop    root    time   algbw   busbw #wrong   "
            " time   algbw   busbw #wrong"
        ),
        (
            "          8             2     float     sum      -1   163.5    0.00    0.00      0  "
            " 164.3    0.00    0.00      0"
        ),
        (
            "  2147483648     536870912     float     sum      -1    51427   41.76  "
            f" {best - 0.1:.2f}      0    51420   41.76   {best:.2f}    {wrong}"
        ),
    ]
    if ended:
        lines += [
            f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}",
            "# Avg bus bandwidth    : 18.3",
        ]
    return "\n".join(f"[1,0]<stdout>:{line}" if tagged else line for line in lines)


@pytest.mark.parametrize("tagged", [False, True])
def test_sizes_devices_provider_and_the_last_words_are_read(tagged: bool) -> None:
    measured = read_table(printed(tagged=tagged))
    assert measured.rows == (Row(8, 163.5, 0.0, 0), Row(2147483648, 51420.0, 78.3, 0))
    assert measured.devices == {"worker-0": 8, "worker-1": 8}
    assert (measured.provider, measured.cards, measured.out_of_bounds, measured.average) == (
        "efa",
        4,
        0,
        18.3,
    )


def test_a_table_of_one_way_only_is_read() -> None:
    assert read_table(
        "    1024    256   float   sum   -1   210.0   0.005   0.005   N/A\n"
    ).rows == (Row(1024, 210.0, 0.005, 0),)


def test_what_others_have_measured_is_good_enough() -> None:
    judgement = judge_bandwidth(read_table(printed()), P4DE)
    assert judgement.ok, judgement
    assert (
        "over efa with 4 cards" in judgement.lines[0]
        and "100% of what others have measured" in judgement.lines[0]
    )


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"best": 40.0}, "40.0 GB/s at 2147483648 bytes; two p4de.24xlarge have 78.3 GB/s"),
        ({"wrong": 3}, "3 wrong values"),
        (
            {"provider": "tcp"},
            "NCCL went over tcp and not over EFA: ask for vpc.amazonaws.com/efa: 4",
        ),
        ({"provider": ""}, "NCCL went over socket and not over EFA"),
        ({"cards": 1}, "NCCL found 1 of the 4 EFA cards"),
        ({"gpus": (8, 7)}, "worker-1 took part with 7 of the 8 devices"),
        ({"gpus": (8, 0)}, "1 of 2 nodes took part: worker-0"),
        ({"ended": False}, "it ended after 2147483648 bytes without its last word"),
    ],
)
def test_what_is_wrong_is_named(parts: dict[str, object], complaint: str) -> None:
    judgement = judge_bandwidth(read_table(printed(**parts)), P4DE)  # type: ignore[arg-type]
    assert not judgement.ok
    assert any(complaint in line for line in judgement.lines), judgement


def test_output_without_a_table_is_no_measurement() -> None:
    assert not judge_bandwidth(read_table("mpirun: command not found\n"), P4DE).ok


def test_a_machine_that_nobody_has_measured_is_judged_by_what_the_inventory_expects() -> None:
    measured = Measured((Row(2**20, 900.0, 1.2, 0),), {"a": 1, "b": 1}, 0)
    assert judge_bandwidth(measured, ExpectedBandwidth(over_nccl=False)).ok
    assert judge_bandwidth(measured, ExpectedBandwidth(bus_gbytes=1.0, over_nccl=False)).ok
    assert judge_bandwidth(measured, ExpectedBandwidth(bus_gbytes=5.0)).lines == (
        "1.20 GB/s at best, expected 5 GB/s",
    )


def test_a_run_that_did_not_reach_the_references_size_is_not_held_against_it() -> None:
    judgement = judge_bandwidth(
        read_table(printed(best=40.0)), ExpectedBandwidth("p5.48xlarge", hosts=2, over_nccl=False)
    )
    assert judgement.ok and "not compared" in judgement.lines[0]


def test_table_figures_and_chart_are_kept_in_the_folder(tmp_path: Path) -> None:
    measured = read_table(printed())
    keep(tmp_path, printed(), measured, Judgement(True, ("fine",)), P4DE)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"bandwidth.{kind}" for kind in ("json", "log", "svg", "txt")
    ]
    assert json.loads((tmp_path / "bandwidth.json").read_text())["rows"][1]["bus_gbytes"] == 78.3
    assert "2 GiB" in (tmp_path / "bandwidth.txt").read_text() and "█" in chart(measured)


def test_the_chart_has_a_point_for_each_size_and_the_reference_as_a_line() -> None:
    chart = ElementTree.fromstring(chart_svg([(1024, 1.0), (2**20, 5.0), (2**30, 9.0)], 8.0))
    svg = "{http://www.w3.org/2000/svg}"
    heights = [float(point.attrib["cy"]) for point in chart.iter(f"{svg}circle")]
    assert heights == sorted(heights, reverse=True) and len(heights) == 3
    assert [line.attrib["stroke"] for line in chart.iter(f"{svg}path")].count("#c83228") == 1
    assert {"1 KiB", "1 MiB", "1 GiB"} <= {text.text for text in chart.iter(f"{svg}text")}
