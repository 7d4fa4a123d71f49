"""Playrunner's verbs: `invoke --list` shows them, `invoke --help VERB` explains one."""

import gc
import sys

gc.disable()  # nothing is worth collecting while the program loads; a run turns it on again
sys.dont_write_bytecode = (
    sys.flags.dont_write_bytecode == 1
)  # Invoke keeps none: each start would compile all of us anew

from pathlib import Path  # noqa: E402

from playrunner.commands.flags import check_surroundings, extend_invoke  # noqa: E402
from playrunner.commands.namespace import namespace  # noqa: E402

check_surroundings()
extend_invoke()

ns = namespace(Path(__file__).parent / "roles", sys.argv[1:])
