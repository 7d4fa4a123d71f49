"""The `playrunner` command, also as `python -m playrunner`."""

from playrunner.commands.interrupts import end_at_once


def main() -> None:
    end_at_once()
    from playrunner.commands.program import main as run

    run()


if __name__ == "__main__":
    main()
