"""What a teardown must leave as it is: somebody else's things with names like ours, and what an
earlier run of ours made to be kept, with data inside."""

from __future__ import annotations

import json
from typing import Any

from playrunner.cloud.owner import Owner
from tests.support.aws.sandbox import PretendAws

KEPT = ("drill-models-2025", "drill-images-2025", "drill-home-2025")
_MANIFEST = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": {},
    "layers": [],
}


class Neighbours:
    """Things beside those of a run, and what they looked like when they were made."""

    def __init__(self, aws: PretendAws, cluster: str) -> None:
        self.aws = aws
        ec2 = aws.client("ec2")
        self.vpc = ec2.create_vpc(CidrBlock="10.77.0.0/16")["Vpc"]["VpcId"]
        self.group = ec2.create_security_group(
            GroupName=f"{cluster}-efs", Description="theirs", VpcId=self.vpc
        )["GroupId"]
        self.role, self.theirs = f"{cluster}-operators", f"{cluster}-theirs"
        aws.role(self.role, "ec2.amazonaws.com")
        self._bucket(self.theirs)
        self._make_kept(Owner(cluster, keep=True))
        self._before = self._described()

    def assert_untouched(self) -> None:
        assert self._described() == self._before

    def _bucket(self, name: str) -> None:
        place: Any = {"LocationConstraint": self.aws.up.region}
        s3 = self.aws.client("s3")
        s3.create_bucket(Bucket=name, CreateBucketConfiguration=place)
        s3.put_object(Bucket=name, Key="model", Body=b"a month of training")

    def _make_kept(self, owner: Owner) -> None:
        bucket, repository, home = KEPT
        tags = {
            name: [{"Key": key, "Value": value} for key, value in owner.tags(name).items()]
            for name in KEPT
        }
        self._bucket(bucket)
        self.aws.client("s3").put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags[bucket]})
        ecr = self.aws.client("ecr")
        ecr.create_repository(repositoryName=repository, tags=tags[repository])
        ecr.put_image(
            repositoryName=repository, imageManifest=json.dumps(_MANIFEST), imageTag="trained"
        )
        self.aws.client("efs").create_file_system(CreationToken=home, Tags=tags[home])

    def _described(self) -> dict[str, Any]:
        ec2, s3, ecr = (self.aws.client(service) for service in ("ec2", "s3", "ecr"))
        bucket, repository, home = KEPT
        systems = self.aws.client("efs").describe_file_systems()["FileSystems"]
        return {
            "vpc": ec2.describe_vpcs(VpcIds=[self.vpc])["Vpcs"],
            "group": ec2.describe_security_groups(GroupIds=[self.group])["SecurityGroups"],
            "role": self.aws.client("iam").get_role(RoleName=self.role)["Role"],
            "objects": {
                name: [
                    (one["Key"], one["Size"], one["LastModified"])
                    for one in s3.list_objects_v2(Bucket=name).get("Contents", ())
                ]
                for name in (self.theirs, bucket)
            },
            "tags": s3.get_bucket_tagging(Bucket=bucket)["TagSet"],
            "repository": ecr.describe_repositories(repositoryNames=[repository])["repositories"],
            "images": ecr.list_images(repositoryName=repository)["imageIds"],
            "home": [
                # SizeInBytes says when it was measured, which is now
                {key: value for key, value in one.items() if key != "SizeInBytes"}
                for one in systems
                if one["CreationToken"] == home
            ],
        }
