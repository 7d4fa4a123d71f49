"""ECR: repositories of images."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.aws import contents
from playrunner.aws.client import Aws
from playrunner.aws.tags import plain
from playrunner.cloud import prices
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.aws.stacks import Stacks
from playrunner.leftovers.leftover import Leftover, ServiceResource

_GONE = ("RepositoryNotFoundException",)


class Repository(Kind):
    """A repository with all its images."""

    name, service, arn = "ECR repository", "ecr", "ecr:repository"

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ecr", "describe_repositories", "repositories"):
            marked = raw["repositoryArn"] in stacks.marked
            # Tags cost a call each; without the tagging API's list, or where the name speaks of a
            # stack, they are asked for.
            if marked or stacks.blind or str(raw["repositoryName"]).startswith(tuple(stacks.names)):
                answer = (
                    aws.read(
                        "ecr",
                        "list_tags_for_resource",
                        missing=_GONE,
                        resourceArn=raw["repositoryArn"],
                    )
                    or {}
                )
                tags = plain(answer.get("tags"))
                price = _price(aws, raw["repositoryName"]) if marked else 0.0
                yield thing_of(
                    raw,
                    raw["repositoryName"],
                    name=raw["repositoryName"],
                    tags=tags,
                    monthly_dollars=price,
                )

    def contents(self, aws: Aws, thing: ServiceResource) -> str:
        return contents.repository(aws, thing.id)

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        repositories = listed(
            aws,
            "ecr",
            "describe_repositories",
            "repositories",
            missing=_GONE,
            repositoryNames=[leftover.id],
        )
        return thing_of(repositories[0], leftover.id) if repositories else None

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ecr", "delete_repository", repositoryName=thing.id, force=True)


def _price(aws: Aws, name: str) -> float:
    images = listed(
        aws, "ecr", "describe_images", "imageDetails", missing=_GONE, repositoryName=name
    )
    return (
        prices.IMAGE_GIB
        * sum(float(image.get("imageSizeInBytes") or 0) for image in images)
        / prices.GIB
    )


KINDS: tuple[type[Kind], ...] = (Repository,)
