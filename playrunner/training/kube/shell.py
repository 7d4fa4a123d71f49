"""train.shell: a pod of one's own with a run's claim mounted, to look at checkpoints and data
without touching the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from playrunner.errors import BadInput
from playrunner.kube.client.config import settings_of
from playrunner.kube.streams.exec import run_in_pod
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.kube.one_off.side_pod import helper
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.variables.templating import MISSING

WAIT = ("sh", "-c", 'trap "exit 0" TERM INT; sleep 28800 & wait')
COMMAND_SECONDS = 3600.0


def open_shell(options: Options, name: str, command: str) -> int:
    session = open_session(options)
    run = the_run(session, name)
    kubectl = shutil.which("kubectl")
    if not command and not kubectl:
        raise BadInput(
            "a shell to type in needs kubectl on this machine; one command does not: --command 'ls"
            " -l /data/runs'"
        )
    if not command and not sys.stdin.isatty():
        raise BadInput(
            "a shell to type in needs a terminal; one command does not: --command 'ls -l"
            " /data/runs'"
        )
    with helper(session, run, "shell", WAIT) as pod:
        if command:
            return _once(session, run, pod, command, options)
        print(
            f"{pod}: {run.name} is in {run.summary['output']}; exit leaves, and the pod goes",
            file=sys.stderr,
        )
        return subprocess.call(
            [str(kubectl), *_where(session), "exec", "-it", "-n", run.namespace, pod, "--", "sh"]
        )


def _once(
    session: ClusterSession, run: ClusterRun, pod: str, command: str, options: Options
) -> int:
    ran = run_in_pod(
        session.kube, run.namespace, pod, "shell", ["sh", "-c", command], seconds=COMMAND_SECONDS
    )
    if options.json:
        print_json(
            {"name": run.name, "pod": pod, "rc": ran.rc, "stdout": ran.out, "stderr": ran.err}
        )
    else:
        sys.stdout.write(ran.out)
        sys.stderr.write(ran.err)
    return 2 if ran.rc else 0


def _where(session: ClusterSession) -> list[str]:
    """The same cluster as ours, in kubectl's words."""

    def said(name: str) -> object:
        found = session.scope.lookup(name)
        return "" if found is MISSING or found is None else found

    settings = settings_of(said)
    file = str(said("kubeconfig") or os.environ.get("KUBECONFIG", ""))
    return [
        *(["--kubeconfig", file] if said("kubeconfig") and file else []),
        *(["--context", settings.context] if settings.context else []),
    ]
