"""Playrunner's verbs: `invoke --list` shows them, `invoke --help VERB` explains one."""

import gc
import sys

gc.disable()  # nothing is worth collecting while the program loads; a run turns it on again
# Invoke turns bytecode off: each start would compile all of our modules again.
sys.dont_write_bytecode = sys.flags.dont_write_bytecode == 1

from playrunner.commands.interrupts import end_at_once  # noqa: E402

end_at_once()

from playrunner.commands.program import verbs  # noqa: E402

ns = verbs(sys.argv[1:])
