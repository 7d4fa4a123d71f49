"""aws.image: the machine image that a public SSM parameter names today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed, Probe

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Image(Probe):
    """The machine image that an SSM parameter names today."""

    in_background: ClassVar[bool] = True

    parameter: str  # as /aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64
    architecture: str = "x86_64"  # what it must be for, since a wrong one only shows when it starts

    def look(self, ctx: Context) -> dict[str, Any]:
        parameter = ctx.aws.read(
            "ssm", "get_parameter", missing=("ParameterNotFound",), Name=self.parameter
        )
        if parameter is None:
            raise Failed(
                f"{ctx.aws.region} has no SSM parameter {self.parameter};"
                " a version or variant in it may be too new or too old"
            )
        number = str(parameter["Parameter"]["Value"])
        image = ctx.aws.read("ec2", "describe_images", ImageIds=[number])["Images"][0]
        if image["Architecture"] != self.architecture:
            raise Failed(
                f"{self.parameter} is for {image['Architecture']}, not {self.architecture}"
            )
        fields = ("ImageId", "Name", "Architecture", "RootDeviceName", "CreationDate")
        return {field: image[field] for field in fields if field in image}
