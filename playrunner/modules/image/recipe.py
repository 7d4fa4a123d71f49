"""image.recipe: what an image is made from, and the tag that follows from it; nothing is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed, Probe
from playrunner.images import recipe
from playrunner.images.context import sources_of
from playrunner.images.reference import parse

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Recipe(Probe):
    """The recipe of one image: its tag is a hash of everything that goes in, so one byte of
    anything makes another tag."""

    in_background: ClassVar[bool] = True

    name: str  # what it is called, as fsdp: the start of its tag
    # Where it is kept, as REGISTRY/REPOSITORY; localhost/NAME stays with its builder
    repository: str
    dockerfile: str  # a template of a Dockerfile, rendered with the step's variables
    context: dict[
        str, str
    ] = {}  # the files and folders that go in: the name in the build, and the path here
    # A folder to lay over the image, as workspace/ in the build; its .dockerignore is heeded
    workspace: str = ""
    build_args: dict[str, Any] = {}  # build arguments, such as BASE_IMAGE; never a secret

    def look(self, ctx: Context) -> dict[str, Any]:
        home = parse(self.repository)
        if home.tag or home.digest:
            raise Failed(f'repository: "{self.repository}" should carry no tag; it is worked out')
        template = ctx.find(self.dockerfile, "templates")
        text = ctx.render_file(template)
        made = recipe.make(
            self.name,
            self.repository,
            text,
            sources_of(self.context, self.workspace),
            self.build_args,
            ctx.owner.cluster,
        )
        return made.values()
