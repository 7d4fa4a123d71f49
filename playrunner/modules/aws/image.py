"""aws.image: the machine image that a public SSM parameter names today."""

from __future__ import annotations

from typing import Any, ClassVar

from playrunner.hostside.module import Failed, Probe


class Image(Probe):
    """The machine image that an SSM parameter names today."""

    in_background: ClassVar[bool] = True

    parameter: str  # as /aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64
    architecture: str = "x86_64"  # what it must be for, since a wrong one only shows when it starts

    def look(self, ctx: Any) -> dict[str, Any]:
        told = ctx.aws.read(
            "ssm", "get_parameter", missing=("ParameterNotFound",), Name=self.parameter
        )
        if told is None:
            raise Failed(
                f"{ctx.aws.region} has no SSM parameter {self.parameter};"
                " a version or variant in it may be too new or too old"
            )
        number = str(told["Parameter"]["Value"])
        found = ctx.aws.read("ec2", "describe_images", ImageIds=[number])["Images"][0]
        if found["Architecture"] != self.architecture:
            raise Failed(
                f"{self.parameter} is for {found['Architecture']}, not {self.architecture}"
            )
        fields = ("ImageId", "Name", "Architecture", "RootDeviceName", "CreationDate")
        return {field: found[field] for field in fields if field in found}
