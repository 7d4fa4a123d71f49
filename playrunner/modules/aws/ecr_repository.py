"""aws.ecr_repository: a place for images, scanned when pushed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from playrunner.aws import contents
from playrunner.aws.tags import spelled
from playrunner.cloud.resource import HoldsData
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._keep import KeptModule
from playrunner.modules.aws._storage import given, refuse_changes, same_key
from playrunner.text.answers import document

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EcrRepository(KeptModule):
    """One repository of the account's registry."""

    name: str  # as training/bert: lower case
    scan_on_push: bool = True  # look for known weaknesses in what is pushed
    immutable_tags: bool = False  # a tag that was pushed can not be pushed again
    # How many of the newest images stay; 0: all; not spoken of when not given
    keep_images: int | None = None
    untagged_days: int | None = None  # how long images without a tag stay; 0: for ever
    encryption: Literal["AES256", "KMS"] = "AES256"  # at rest; fixed at creation
    # With KMS: the key's id or ARN; the account's own for ECR when not given
    kms_key: str | None = None
    # When it is deleted, its images go with it; otherwise only an empty one can be deleted
    empty_on_delete: bool = False

    def observe(self, ctx: Context) -> State | None:
        everything = ctx.aws.read("ecr", "describe_repositories")["repositories"]
        repository = next(
            (candidate for candidate in everything if candidate["repositoryName"] == self.name),
            None,
        )
        if repository is None:
            return None
        gone = ("RepositoryNotFoundException", "LifecyclePolicyNotFoundException")
        tags = ctx.aws.read(
            "ecr", "list_tags_for_resource", gone, resourceArn=repository["repositoryArn"]
        )
        if tags is None:  # a late answer showed what is gone
            return None
        state = {**repository, "tags": tags.get("tags", [])}
        if self._rules() is not None:
            policy = ctx.aws.read("ecr", "get_lifecycle_policy", gone, repositoryName=self.name)
            state["lifecyclePolicy"] = (
                document(
                    str(policy["lifecyclePolicyText"]).encode(), "AWS (ecr.get_lifecycle_policy)"
                )
                if policy
                else {"rules": []}
            )
        return self.with_keep(state)

    def desired(self, ctx: Context, current: State | None) -> State:
        encryption = given(
            encryptionType=self.encryption, kmsKey=same_key(_key_of(current), self.kms_key)
        )
        refuse_changes(
            f"the repository {self.name}", current, {"encryptionConfiguration": encryption}
        )
        rules = self._rules()
        return {
            "encryptionConfiguration": encryption,
            "imageScanningConfiguration": {"scanOnPush": self.scan_on_push},
            "imageTagMutability": "IMMUTABLE" if self.immutable_tags else "MUTABLE",
            "Keep": ctx.owner.keep,
            **({} if rules is None else {"lifecyclePolicy": {"rules": rules}}),
        }

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            self._remove(ctx)
            return
        wanted = dict(change.after or {})
        policy = wanted.pop("lifecyclePolicy", {"rules": []})
        wanted.pop("Keep", None)  # among the tags
        if change.creates:
            ctx.aws.call(
                "ecr",
                "create_repository",
                repositoryName=self.name,
                tags=spelled(ctx.owner.tags(self.name)),
                **wanted,
            )
            if not policy["rules"]:
                return
        elif change.touches("imageScanningConfiguration"):
            ctx.aws.call(
                "ecr",
                "put_image_scanning_configuration",
                repositoryName=self.name,
                imageScanningConfiguration=wanted["imageScanningConfiguration"],
            )
        if not change.creates and change.touches("imageTagMutability"):
            ctx.aws.call(
                "ecr",
                "put_image_tag_mutability",
                repositoryName=self.name,
                imageTagMutability=wanted["imageTagMutability"],
            )
        if change.touches("lifecyclePolicy"):
            self._apply_policy(ctx, policy)
        self.update_keep(ctx, change)

    def set_tag(self, ctx: Context, state: State, key: str, value: str) -> None:
        ctx.aws.call(
            "ecr", "tag_resource", resourceArn=state["repositoryArn"], tags=spelled({key: value})
        )

    def remove_tag(self, ctx: Context, state: State, key: str) -> None:
        ctx.aws.call("ecr", "untag_resource", resourceArn=state["repositoryArn"], tagKeys=[key])

    def contents(self, ctx: Context, state: State) -> str:
        return contents.repository(ctx.aws, self.name)

    def label(self, state: State) -> str:
        return str(state["repositoryUri"])

    def _remove(self, ctx: Context) -> None:
        if not self.empty_on_delete:
            images = ctx.aws.read(
                "ecr", "list_images", repositoryName=self.name, PaginationConfig={"MaxItems": 1}
            )["imageIds"]
            if images:
                raise HoldsData(
                    f"the repository {self.name} holds images; set empty_on_delete: true to delete"
                    " them with it"
                )
        ctx.aws.call(
            "ecr", "delete_repository", repositoryName=self.name, force=self.empty_on_delete
        )

    def _apply_policy(self, ctx: Context, policy: State) -> None:
        if policy["rules"]:
            ctx.aws.call(
                "ecr",
                "put_lifecycle_policy",
                repositoryName=self.name,
                lifecyclePolicyText=json.dumps(policy),
            )
        else:
            ctx.aws.call("ecr", "delete_lifecycle_policy", repositoryName=self.name)

    def _rules(self) -> list[State] | None:
        """What of it goes, in the service's own words; untagged images first, since they count
        among the images."""
        if self.keep_images is None and self.untagged_days is None:
            return None
        old = {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": self.untagged_days,
        }
        many = {
            "tagStatus": "any",
            "countType": "imageCountMoreThan",
            "countNumber": self.keep_images,
        }
        selections = (
            (old, f"untagged for {self.untagged_days} days"),
            (many, f"all but the newest {self.keep_images}"),
        )
        chosen = [(selection, text) for selection, text in selections if selection["countNumber"]]
        return [
            {
                "rulePriority": priority,
                "description": text,
                "selection": selection,
                "action": {"type": "expire"},
            }
            for priority, (selection, text) in enumerate(chosen, 1)
        ]


def _key_of(current: State | None) -> str | None:
    return ((current or {}).get("encryptionConfiguration") or {}).get("kmsKey")
