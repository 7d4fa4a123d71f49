"""The job of the deepspeed launcher, whose ranks start over SSH."""

from __future__ import annotations

import json

from playrunner.training.kube.job_spec.render import variables
from tests.support.launch.rendered import (
    ID,
    cpus,
    own_state,  # noqa: F401
)
from tests.support.launch.rendering import container, planned, rendered


def test_a_deepspeed_job_brings_keys_of_its_own_that_no_other_object_holds() -> None:
    job = planned("deepspeedjob", "gpt2-micro-smoke", cpus(), 2)
    objects, again = rendered(job), variables(job)["ssh_keys"]
    spec = objects["Job"]["spec"]
    assert (objects["Job"]["apiVersion"], spec["completionMode"], spec["completions"]) == (
        "batch/v1",
        "Indexed",
        2,
    )
    pod = spec["template"]
    volume = next(one for one in pod["spec"]["volumes"] if one["name"] == "keys")
    assert volume["secret"] == {"secretName": f"{ID}-ssh", "defaultMode": 0o600}
    assert {"name": "keys", "mountPath": "/etc/playrunner-ssh", "readOnly": True} in container(pod)[
        "volumeMounts"
    ]
    assert container(pod)["args"][:6] == [
        "--over-ssh",
        f"--name={ID}",
        "--nodes=2",
        "--slots=1",
        "--port=29500",
        "--keys=/etc/playrunner-ssh",
    ]
    assert objects["Service"]["spec"]["clusterIP"] == "None" and pod["spec"]["subdomain"] == ID
    made = variables(job)["ssh_keys"]
    assert sorted(made) == ["host_key", "host_key.pub", "key", "key.pub"]
    assert set(made.values()).isdisjoint(again.values()), "keys were used twice"
    assert "PRIVATE KEY" in made["key"] and "PRIVATE KEY" not in json.dumps(objects)
