"""`@frozen` and `@mutable`: dataclasses that are cheap to define; the trainer has them, which
imports nothing of the runner."""

from trainer.frozen import frozen, mutable

__all__ = ["frozen", "mutable"]
