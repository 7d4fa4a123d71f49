"""Side-by-side runs against the tools a user would pick instead."""

import os

# Set for tests and by some images, and inherited by each program that is timed: all of ours would
# be compiled again at each start, which is most of a short command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
