"""aws.image: the machine image that an SSM parameter names today."""

from __future__ import annotations

from tests.support.aws.module_stage import AwsStage

PATH = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/recommended/image_id"


def test_the_image_behind_a_parameter(stage: AwsStage) -> None:
    found = stage.play([{"name": "image", "aws.image": {"parameter": PATH}}], check=True).values[
        "image"
    ]
    assert found["ImageId"].startswith("ami-") and found["RootDeviceName"] == "/dev/xvda"
    assert found["Name"].startswith("amazon-eks-node-al2023-x86_64-neuron-1.33")


def test_a_parameter_that_is_not_there(stage: AwsStage) -> None:
    run = stage.play([{"name": "image", "aws.image": {"parameter": PATH.replace("1.33", "1.17")}}])
    assert (
        run.code == 2
        and "us-west-2 has no SSM parameter" in run.messages
        and "1.17" in run.messages
    )


def test_an_image_for_other_processors(stage: AwsStage) -> None:
    arm = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64"
    assert (
        "is for arm64, not x86_64"
        in stage.play([{"name": "image", "aws.image": {"parameter": arm}}]).messages
    )
