"""`python -m playrunner` is the `playrunner` command."""

from playrunner.commands.program import main

main()
