"""The `playrunner` command, which is `python -m playrunner`, too."""

from playrunner.commands.interrupts import end_at_once


def main() -> None:
    end_at_once()
    from playrunner.commands.program import main as run

    run()


if __name__ == "__main__":
    main()
