"""`@frozen`: a dataclass of values that do not change, cheap to define; the trainer has it, which
imports nothing of the runner."""

from trainer.frozen import frozen

__all__ = ["frozen"]
