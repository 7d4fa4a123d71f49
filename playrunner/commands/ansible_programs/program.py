"""What the programs share: Ansible's exit codes, and how a command line is run."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence

from playrunner.commands.ending import end_process
from playrunner.errors import PlayrunnerError
from playrunner.text.streams import code_after_output, guard_streams

# Ansible's exit codes, which are not ours everywhere.
FAILED, UNREACHABLE, ERROR, NOT_LOADED, BAD_OPTIONS, INTERRUPTED, DEFECT = 2, 4, 1, 4, 5, 99, 250


def run_program(
    parser: argparse.ArgumentParser,
    words: Sequence[str] | None,
    run: Callable[[argparse.Namespace], int],
    code_of: Callable[[PlayrunnerError], int] = lambda error: ERROR,
) -> int:
    """Run a command line; returns the exit code."""
    gc.disable()  # nothing is worth collecting while the program loads; a run turns it on again
    guard_streams()
    arguments = parser.parse_args(sys.argv[1:] if words is None else list(words))
    from playrunner.output.ansible_report import print_ansible_error

    try:
        code = run(arguments)
    except PlayrunnerError as error:
        print_ansible_error(error)
        code = code_of(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        gc.enable()
    code = code_after_output(code)
    if words is None:  # the process is this command's own
        end_process(code)
    return code
