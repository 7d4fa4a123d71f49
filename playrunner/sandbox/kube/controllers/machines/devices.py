"""Which pods bring which devices: a node offers them only while such a pod runs on it."""

from __future__ import annotations

from fnmatch import fnmatch

from playrunner.sandbox.kube.controllers.framework.resources import Object

# The image of a plugin's container, and the resources that it offers.
PLUGINS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("*nvidia/k8s-device-plugin*", ("nvidia.com/gpu",)),
    ("*nvidia-gpu-device-plugin*", ("nvidia.com/gpu",)),
    ("*neuron-device-plugin*", ("aws.amazon.com/neuron", "aws.amazon.com/neuroncore")),
    ("*aws-efa-k8s-device-plugin*", ("vpc.amazonaws.com/efa",)),
    # On Google's machines the plugin is part of the system, and waits for the driver.
    ("*nvidia-driver-installer*", ("nvidia.com/gpu",)),
    ("*cos-nvidia-installer*", ("nvidia.com/gpu",)),
)


def offered_by(pod: Object) -> set[str]:
    """The devices that this pod, when it runs, brings to its node."""
    images = [
        one.get("image", "")
        for name in ("containers", "initContainers")
        for one in pod["spec"].get(name) or ()
    ]
    return {
        device
        for image in images
        for pattern, devices in PLUGINS
        if fnmatch(image, pattern)
        for device in devices
    }
