"""aws.eks_usable: nothing is built on a cluster that aws.eks_verify found a problem with."""

from __future__ import annotations

from typing import Any, ClassVar

from playrunner.hostside.module import Action, Failed


class EksUsable(Action):
    """Fails with all the problems that aws.eks_verify found. It is a step of its own, since whoever
    deletes passes it over."""

    in_background: ClassVar[bool] = True

    name: str  # the cluster's name
    problems: list[str] = []  # what was found

    def guard(self, ctx: Any) -> dict[str, Any]:
        if self.problems:
            listed = "".join(f"\n- {problem}" for problem in self.problems)
            raise Failed(f"{self.name} cannot be used yet:{listed}", problems=self.problems)
        return {"msg": f"{self.name} can be used"}
