"""train.top: what processes and devices do right now, asked in every pod of a run."""

from __future__ import annotations

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.hostside.module import Failed
from playrunner.kube.streams.exec import run_in_pod
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import ClusterSession, open_session

SECONDS = 60.0
_NEURON = "PATH=$PATH:/opt/aws/neuron/bin"
ASKED = {
    "cuda": "nvidia-smi",
    "neuron": f"{_NEURON} neuron-ls -w 2>/dev/null || {_NEURON} neuron-ls",
    "cpu": (
        "ps -eo pid,pcpu,rss,etime,args --sort=-pcpu 2>/dev/null | cut -c1-120 | head -12 || top -b"
        " -n 1 | head -20"
    ),
}
LIVE = {
    "cuda": "nvidia-smi dmon",
    "neuron": "env TERM=screen PATH=/opt/aws/neuron/bin:/usr/bin:/bin neuron-top",
    "cpu": "top",
}


def show_top(options: Options, name: str, host: str) -> int:
    session = open_session(options)
    run = the_run(session, name)
    running = [
        str(pod["metadata"]["name"])
        for pod in run.pods
        if (pod.get("status") or {}).get("phase") == "Running"
    ]
    chosen = [pod for pod in running if not host or pod == host]
    if not chosen:
        raise BadInput(
            f"{run.name} has no {f'pod {host}' if host else 'pod'} that runs"
            f" ({', '.join(running) or run.state}); {program()} train.why --name {run.name}"
        )
    outputs = dict(
        zip(chosen, session.kube.together(lambda pod: _ask(session, run, pod), chosen), strict=True)
    )
    if options.json:
        print_json({"name": run.name, "pods": outputs})
        return 0
    for pod, text in outputs.items():
        print(f"{pod}:\n{text.rstrip()}\n")
    print(f"live: kubectl exec -it -n {run.namespace} {chosen[0]} -- {LIVE[_device(run)]}")
    return 0


def _ask(session: ClusterSession, run: ClusterRun, pod: str) -> str:
    try:
        ran = run_in_pod(
            session.kube,
            run.namespace,
            pod,
            CONTAINER,
            ["sh", "-c", ASKED[_device(run)]],
            seconds=SECONDS,
        )
    except (Failed, PlayrunnerError) as error:
        return f"it could not be asked: {error}"
    return ran.out or ran.err or f"exit code {ran.rc}"


def _device(run: ClusterRun) -> str:
    return str(run.summary.get("device") or "cpu")
