"""A measurement's end: judged, kept in a run folder, and told."""

from __future__ import annotations

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.record.ledger import Ledger
from playrunner.results import Recap
from playrunner.training.netcheck.bandwidth_files import as_data, chart, keep
from playrunner.training.netcheck.judgement import ExpectedBandwidth, judge_bandwidth
from playrunner.training.netcheck.perf_table import read_table

CLOSED = 6


def tell(
    output: str, wanted: ExpectedBandwidth, command: str, seconds: float, options: Options
) -> int:
    """The exit code: 6 when the bandwidth is not what it should be."""
    measured = read_table(output)
    judgement = judge_bandwidth(measured, wanted)
    code = 0 if judgement.ok else CLOSED
    ledger = Ledger(command)
    keep(ledger.folder, output, measured, judgement, wanted)
    ledger.close(Recap(), code, seconds)
    if options.json:
        print_json({**as_data(measured, judgement, ledger.folder), "exit_code": code})
        return code
    if measured.rows:
        print(chart(measured))
    print("\n".join([*judgement.lines, f"output, table and chart: {ledger.folder}"]))
    return code
