"""KubeModule: what modules for things in a Kubernetes cluster share."""

from __future__ import annotations

from collections.abc import Mapping

from playrunner.cloud import CloudModule


class KubeModule(CloudModule):
    """A thing in a cluster."""

    @property
    def stands_on_nothing(self) -> bool:
        """Whether what it comes after (`after: "{{ cluster }}"`) is known not to be there: then neither is the thing itself, and
        nobody need be asked. A cluster that merely does not answer is another matter."""
        named = self.after if isinstance(self.after, list) else [self.after]
        return any(isinstance(one, Mapping) and one.get("absent") is True for one in named)
