"""The end of a command's process: what was registered for it runs, and the exit code is the
command's."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, threading
from playrunner.commands.ending import end_process
atexit.register(print, "registered")
def work():
    threading.main_thread().join()  # it counts as ended once the process is being ended
    print("a thread")
threading.Thread(target=work).start()
print("written", end=" ")
end_process(3)
"""


def test_threads_and_exit_functions_end_and_output_is_written() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("written a thread\nregistered\n", "", 3)
