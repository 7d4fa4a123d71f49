"""Playrunner's verbs: `invoke --list` shows them, `invoke --help VERB` explains one."""

from pathlib import Path

from playrunner.verbs import namespace

ns = namespace(Path(__file__).parent / "roles")
