"""A whole stack made by hand with our marks, neighbours of other people, and what a cluster leaves
behind."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws.sandbox import PretendAws
from tests.support.until import until

MARKS = {
    "playrunner:run": "20260102-030405-abcdef",
    "playrunner:who": "ada",
    "playrunner:expires": "2026-01-02T11:00:00Z",
}
IMAGE = "ami-0a1000000000000a1"
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "ec2.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
)
PERMIT = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}],
    }
)


class Builder:
    """Makes things for one stack; without a name they carry no mark."""

    def __init__(self, aws: PretendAws, stack: str, name: str = "") -> None:
        self.aws, self.stack, self.name = aws, stack, name or stack
        self.ec2, self.iam = aws.client("ec2"), aws.client("iam")
        self.tags = {"playrunner:cluster": stack, **MARKS} if stack else {"owner": "somebody else"}
        self.list = [{"Key": key, "Value": value} for key, value in self.tags.items()]

    def spec(self, kind: str) -> list[dict[str, Any]]:
        return [
            {
                "ResourceType": kind,
                "Tags": [*self.list, {"Key": "Name", "Value": f"{self.name}-{kind}"}],
            }
        ]

    def network(self) -> None:
        ec2 = self.ec2
        self.vpc = ec2.create_vpc(CidrBlock="192.168.0.0/16", TagSpecifications=self.spec("vpc"))[
            "Vpc"
        ]["VpcId"]
        self.subnets = [
            ec2.create_subnet(
                VpcId=self.vpc,
                CidrBlock=f"192.168.{32 * number}.0/19",
                AvailabilityZone=zone,
                TagSpecifications=self.spec("subnet"),
            )["Subnet"]["SubnetId"]
            for number, zone in enumerate(("us-west-2a", "us-west-2b"))
        ]
        gateway = ec2.create_internet_gateway(TagSpecifications=self.spec("internet-gateway"))[
            "InternetGateway"
        ]
        ec2.attach_internet_gateway(InternetGatewayId=gateway["InternetGatewayId"], VpcId=self.vpc)
        address = ec2.allocate_address(Domain="vpc", TagSpecifications=self.spec("elastic-ip"))[
            "AllocationId"
        ]
        nat = ec2.create_nat_gateway(
            SubnetId=self.subnets[0],
            AllocationId=address,
            TagSpecifications=self.spec("natgateway"),
        )
        self.nat = nat["NatGateway"]["NatGatewayId"]
        table = ec2.create_route_table(VpcId=self.vpc, TagSpecifications=self.spec("route-table"))[
            "RouteTable"
        ]["RouteTableId"]
        for subnet in self.subnets:
            ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
        ec2.create_vpc_endpoint(
            VpcId=self.vpc,
            ServiceName="com.amazonaws.us-west-2.s3",
            RouteTableIds=[table],
            VpcEndpointType="Gateway",
            TagSpecifications=self.spec("vpc-endpoint"),
        )
        ec2.create_network_acl(VpcId=self.vpc, TagSpecifications=self.spec("network-acl"))

    def groups(self) -> None:
        """Two that name each other, so that neither can go first."""
        made = [
            self.ec2.create_security_group(
                GroupName=f"{self.name}-{end}",
                Description=end,
                VpcId=self.vpc,
                TagSpecifications=self.spec("security-group"),
            )["GroupId"]
            for end in ("nodes", "storage")
        ]
        for one, other in (made, made[::-1]):
            rule = {
                "IpProtocol": "tcp",
                "FromPort": 988,
                "ToPort": 988,
                "UserIdGroupPairs": [{"GroupId": other}],
            }
            self.ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=[rule])
        own = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made[0]}]}
        self.ec2.authorize_security_group_ingress(GroupId=made[0], IpPermissions=[own])
        self.group = made[0]

    def identity(self) -> None:
        policy = self.iam.create_policy(
            PolicyName=f"{self.name}-policy", PolicyDocument=PERMIT, Tags=self.list
        )["Policy"]["Arn"]
        self.iam.create_role(
            RoleName=f"{self.name}-machine", AssumeRolePolicyDocument=TRUST, Tags=self.list
        )
        self.iam.attach_role_policy(RoleName=f"{self.name}-machine", PolicyArn=policy)
        self.iam.put_role_policy(
            RoleName=f"{self.name}-machine", PolicyName="inline", PolicyDocument=PERMIT
        )
        self.iam.create_policy_version(PolicyArn=policy, PolicyDocument=PERMIT, SetAsDefault=True)
        self.iam.create_instance_profile(InstanceProfileName=f"{self.name}-machine", Tags=self.list)
        self.iam.add_role_to_instance_profile(
            InstanceProfileName=f"{self.name}-machine", RoleName=f"{self.name}-machine"
        )

    def compute(self) -> None:
        ec2 = self.ec2
        ec2.create_key_pair(
            KeyName=f"{self.name}-key", KeyType="ed25519", TagSpecifications=self.spec("key-pair")
        )
        ec2.create_placement_group(
            GroupName=f"{self.name}-near", TagSpecifications=self.spec("placement-group")
        )
        ec2.create_launch_template(
            LaunchTemplateName=f"{self.name}-nodes",
            LaunchTemplateData={"InstanceType": "t3.micro"},
            TagSpecifications=self.spec("launch-template"),
        )
        volume = {
            "DeviceName": "/dev/xvda",
            "Ebs": {"VolumeSize": 8, "VolumeType": "gp3", "DeleteOnTermination": True},
        }
        self.instance = ec2.run_instances(
            ImageId=IMAGE,
            InstanceType="m5.large",
            MinCount=1,
            MaxCount=1,
            SubnetId=self.subnets[0],
            BlockDeviceMappings=[volume],
            SecurityGroupIds=[self.group],
            TagSpecifications=self.spec("instance"),
        )["Instances"][0]["InstanceId"]
        self.volume = ec2.create_volume(
            AvailabilityZone="us-west-2a",
            Size=100,
            VolumeType="gp3",
            TagSpecifications=self.spec("volume"),
        )["VolumeId"]
        ec2.create_snapshot(VolumeId=self.volume, TagSpecifications=self.spec("snapshot"))

    def storage(self) -> None:
        efs, fsx = self.aws.client("efs"), self.aws.client("fsx")
        self.efs = efs.create_file_system(CreationToken=f"{self.name}-data", Tags=self.list)[
            "FileSystemId"
        ]

        def look():
            return efs.describe_file_systems(FileSystemId=self.efs)["FileSystems"][0][
                "LifeCycleState"
            ]

        until(look, lambda state: state == "available")
        for subnet in self.subnets:
            efs.create_mount_target(
                FileSystemId=self.efs, SubnetId=subnet, SecurityGroups=[self.group]
            )
        efs.create_access_point(
            ClientToken=f"{self.name}-door", FileSystemId=self.efs, Tags=self.list
        )
        self.fsx = fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            SubnetIds=self.subnets[:1],
            SecurityGroupIds=[self.group],
            Tags=self.list,
            LustreConfiguration={"DeploymentType": "SCRATCH_2"},
        )["FileSystem"]["FileSystemId"]

    def shelves(self) -> None:
        """Where images, logs and objects are."""
        self.aws.client("ecr").create_repository(
            repositoryName=f"{self.name}/images", tags=self.list
        )
        self.aws.client("logs").create_log_group(logGroupName=f"/{self.name}/jobs", tags=self.tags)
        s3, self.bucket = self.aws.client("s3"), f"{self.name}-checkpoints"
        s3.create_bucket(
            Bucket=self.bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
        )
        s3.put_bucket_tagging(Bucket=self.bucket, Tagging={"TagSet": self.list})
        s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        for body in (b"first", b"second"):
            s3.put_object(Bucket=self.bucket, Key="step-100/model", Body=body)
        s3.delete_object(Bucket=self.bucket, Key="step-100/model")
        s3.create_multipart_upload(Bucket=self.bucket, Key="step-200/model")

    def kubernetes(self) -> None:
        logging = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
        cluster = self.aws.cluster(self.subnets, self.name, tags=self.tags, logging=logging)
        self.aws.nodegroup(self.name, self.subnets, tags=self.tags)
        self.aws.client("eks").create_addon(
            clusterName=self.name, addonName="vpc-cni", tags=self.tags
        )
        for role in (f"{self.name}-control", f"{self.name}-workers-node"):
            self.iam.tag_role(RoleName=role, Tags=self.list)
        issuer = cluster["identity"]["oidc"]["issuer"]
        self.iam.create_open_id_connect_provider(
            Url=issuer, ClientIDList=["sts.amazonaws.com"], Tags=self.list
        )

    def made_by_the_cluster(self) -> None:
        """What its controllers made: none of it carries our mark."""
        own = [{"Key": f"kubernetes.io/cluster/{self.name}", "Value": "owned"}]
        controller = [{"Key": "elbv2.k8s.aws/cluster", "Value": self.name}]
        group = self.ec2.create_security_group(
            GroupName=f"k8s-elb-{self.name}",
            Description="for a service",
            VpcId=self.vpc,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": own}],
        )["GroupId"]
        balancers, classic = self.aws.client("elbv2"), self.aws.client("elb")
        balancers.create_load_balancer(
            Name=f"k8s-{self.name}", Type="network", Subnets=self.subnets, Tags=controller
        )
        balancers.create_target_group(
            Name=f"k8s-{self.name}", Protocol="TCP", Port=80, VpcId=self.vpc, Tags=controller
        )
        classic.create_load_balancer(
            LoadBalancerName=f"a-{self.name}",
            Subnets=self.subnets[:1],
            SecurityGroups=[group],
            Tags=own,
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 30080}],
        )
        self.claim = self.ec2.create_volume(
            AvailabilityZone="us-west-2b",
            Size=50,
            VolumeType="gp3",
            TagSpecifications=[{"ResourceType": "volume", "Tags": own}],
        )["VolumeId"]
        self.orphan = self.ec2.create_network_interface(
            SubnetId=self.subnets[1], Description="ELB net/gone/0123"
        )["NetworkInterface"]["NetworkInterfaceId"]

    def unmarked_machine(self) -> str:
        """One that somebody started in this network by hand."""
        made = self.ec2.run_instances(
            ImageId=IMAGE, InstanceType="t3.micro", MinCount=1, MaxCount=1, SubnetId=self.subnets[0]
        )
        return str(made["Instances"][0]["InstanceId"])

    STEPS = (
        "network",
        "groups",
        "identity",
        "compute",
        "storage",
        "shelves",
        "kubernetes",
        "made_by_the_cluster",
    )

    def everything(self) -> Builder:
        for step in self.STEPS:
            getattr(self, step)()
        return self


def neighbours(aws: PretendAws) -> Builder:
    """Other people's: a network, groups, roles, a bucket and the rest, beside ours and called much
    like ours."""
    other = Builder(aws, "", "demo-other")
    for step in ("network", "groups", "identity", "shelves", "storage"):
        getattr(other, step)()
    return other
