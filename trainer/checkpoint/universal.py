"""`python -m trainer.checkpoint.universal`: DeepSpeed's conversion of a checkpoint for any number
of ranks, running nothing of it."""

from __future__ import annotations

import os
import sys
from pickle import UnpicklingError

from trainer.checkpoint.safe_load import refusal, tensors_only


def main() -> int:
    from deepspeed.checkpoint import ds_to_universal

    options = ds_to_universal.parse_arguments()
    try:
        with tensors_only(
            os.environ.get("TRAINER_TRUST") == "1"
        ):  # processes that it starts inherit it: they are forks
            ds_to_universal.main(options)
    except UnpicklingError as error:
        print(refusal(options.input_folder, error), file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
