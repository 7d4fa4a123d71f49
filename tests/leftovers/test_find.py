"""Finding: every kind, by its mark, its VPC or its maker; nothing of other people's."""

from __future__ import annotations

import json

from playrunner.aws.client import Aws
from playrunner.leftovers import Leftover, find
from playrunner.leftovers.aws.kinds import BY_NAME, KINDS
from playrunner.leftovers.leftover import UNSEEN
from tests.support.aws.leftovers_listing import listing, settle
from tests.support.aws.leftovers_world import TRUST, Builder, neighbours
from tests.support.aws.sandbox import PretendAws
from tests.support.until import until

GUESTS = {"EKS add-on", "EKS access entry", "EKS pod identity"}  # in clusters that are not ours


def ids(found: list[Leftover], kind: str) -> set[str]:
    return {one.id for one in found if one.kind == kind}


def test_every_kind_is_found_and_looking_touches_nothing(aws: PretendAws, client: Aws) -> None:
    neighbours(aws)
    stack = Builder(aws, "demo").everything()
    aws.client("ec2").create_egress_only_internet_gateway(VpcId=stack.vpc)
    aws.client("ec2").create_vpc_peering_connection(VpcId=aws.network()[0], PeerVpcId=stack.vpc)
    settle(aws)
    before = listing(aws)
    aws.control("DELETE", "calls")
    found = find(client, "demo")
    assert {one.kind for one in found} == set(BY_NAME) - GUESTS
    assert not [call for call in aws.calls() if call["mutating"]]
    assert listing(aws) == before
    assert {one.cluster for one in found} == {"demo"}
    assert find(client, None) == found


def test_a_thing_tells_who_made_it_when_and_what_it_costs(aws: PretendAws, client: Aws) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    nat = next(one for one in find(client, "demo") if one.kind == "NAT gateway")
    assert (nat.id, nat.name, nat.who, nat.run) == (
        stack.nat,
        "demo-natgateway",
        "ada",
        "20260102-030405-abcdef",
    )
    assert (nat.expires, nat.monthly_dollars, nat.owned) == (
        "2026-01-02T11:00:00Z",
        0.045 * 730,
        True,
    )
    vpc = next(one for one in find(client, "demo") if one.kind == "VPC")
    assert vpc.since.startswith("2026-01-0")  # EC2 does not tell; the run's id does


def test_what_is_not_priced_says_so(aws: PretendAws, client: Aws) -> None:
    Builder(aws, "demo").shelves()
    bucket = next(one for one in find(client, "demo") if one.kind == "S3 bucket")
    assert bucket.monthly_dollars is None


def test_what_a_cluster_made_is_found_though_it_carries_no_mark(
    aws: PretendAws, client: Aws
) -> None:
    stack = Builder(aws, "demo").everything()
    found = find(client, "demo")
    unmarked = {one.id: one for one in found if not one.owned}
    assert {stack.claim, stack.orphan, "a-demo", "/aws/eks/demo/cluster"} <= set(unmarked)
    assert unmarked[stack.claim].why == "made by cluster demo (kubernetes.io/cluster/demo=owned)"
    assert unmarked[stack.orphan].why == f"inside our {stack.vpc}"


def test_what_a_cluster_made_is_found_after_the_cluster(aws: PretendAws, client: Aws) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    stack.made_by_the_cluster()
    aws.client("logs").create_log_group(logGroupName="/aws/eks/demo/cluster")
    found = find(client, "demo")
    assert stack.claim in ids(found, "volume")
    assert ids(found, "log group") == {"/aws/eks/demo/cluster"}


def test_a_cluster_of_another_name_is_known_by_it_when_it_is_gone(
    aws: PretendAws, client: Aws
) -> None:
    Builder(aws, "demo").shelves()
    other = Builder(aws, "", "train")
    other.network()
    other.made_by_the_cluster()
    assert not ids(find(client, "demo"), "volume")
    assert ids(find(client, "demo", known_as=["train"]), "volume") == {other.claim}


def test_a_cluster_of_our_stacks_name_that_is_not_ours_keeps_what_it_made(
    aws: PretendAws, client: Aws
) -> None:
    Builder(aws, "demo").shelves()
    other = Builder(aws, "", "demo")
    other.network()
    other.kubernetes()
    other.made_by_the_cluster()
    assert {one.kind for one in find(client, "demo")} == {
        "ECR repository",
        "log group",
        "S3 bucket",
    }
    assert ids(find(client, None), "log group") == {"/demo/jobs"}


def test_a_cluster_that_others_run_on_machines_of_their_own_keeps_what_it_made(
    aws: PretendAws, client: Aws
) -> None:
    Builder(aws, "demo").shelves()
    other = Builder(aws, "", "demo")
    other.network()
    other.made_by_the_cluster()
    assert other.claim in ids(find(client, "demo"), "volume")  # nobody runs it any more
    machine = other.unmarked_machine()
    aws.client("ec2").create_tags(
        Resources=[machine], Tags=[{"Key": "kubernetes.io/cluster/demo", "Value": "owned"}]
    )
    assert {one.kind for one in find(client, "demo")} == {
        "ECR repository",
        "log group",
        "S3 bucket",
    }


def test_each_stack_has_its_own(aws: PretendAws, client: Aws) -> None:
    for name in ("one", "two"):
        stack = Builder(aws, name)
        stack.network()
        stack.shelves()
    every = find(client, None)
    assert {one.cluster for one in every} == {"one", "two"}
    assert find(client, "two") == [one for one in every if one.cluster == "two"]
    assert find(client, "three") == []


def test_a_machine_that_nobody_marked_in_our_vpc_is_listed_but_stays(
    aws: PretendAws, client: Aws
) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    made = stack.unmarked_machine()
    machine = next(one for one in find(client, "demo") if one.id == made)
    assert machine.stays
    assert "nothing shows that we created it" in machine.why


def test_a_file_system_of_others_that_is_mounted_in_our_vpc_loses_only_its_targets_there(
    aws: PretendAws, client: Aws
) -> None:
    stack, efs = Builder(aws, "demo"), aws.client("efs")
    stack.network()
    data = efs.create_file_system(CreationToken="theirs")["FileSystemId"]
    until(
        lambda: efs.describe_file_systems()["FileSystems"][0]["LifeCycleState"],
        lambda state: state == "available",
    )
    target = efs.create_mount_target(FileSystemId=data, SubnetId=stack.subnets[0])["MountTargetId"]
    found = find(client, "demo")
    assert ids(found, "EFS mount target") == {target}
    assert not ids(found, "EFS file system")


def test_ours_in_a_cluster_of_others_is_found(aws: PretendAws, client: Aws) -> None:
    other, eks = Builder(aws, "", "theirs"), aws.client("eks")
    other.network()
    cluster = aws.cluster(other.subnets, "theirs", accessConfig={"authenticationMode": "API"})
    tags = {"playrunner:cluster": "demo"}
    aws.nodegroup("theirs", other.subnets, "extra", tags=tags)
    eks.create_addon(clusterName="theirs", addonName="vpc-cni", tags=tags)
    eks.create_addon(clusterName="theirs", addonName="coredns")
    role = aws.role("pods", "pods.eks.amazonaws.com")
    eks.create_access_entry(clusterName="theirs", principalArn=role, tags=tags)
    eks.create_pod_identity_association(
        clusterName="theirs", namespace="default", serviceAccount="a", roleArn=role, tags=tags
    )
    found = find(client, "demo")
    assert {one.kind for one in found} == {"nodegroup", *GUESTS}
    assert ids(found, "EKS add-on") == {"vpc-cni"}
    assert cluster["name"] not in {one.id for one in found}


def test_a_kind_nobody_knows_is_caught_by_the_tagging_api(aws: PretendAws, client: Aws) -> None:
    mark = [{"Key": "playrunner:cluster", "Value": "demo"}]
    aws.client("secretsmanager").create_secret(Name="demo", SecretString="x", Tags=mark)
    [secret] = find(client, "demo")
    assert (secret.kind, secret.cluster, secret.stays) == ("secretsmanager:secret", "demo", True)
    assert "delete it yourself" in secret.why


def test_what_may_not_be_looked_at_is_not_taken_for_absent(aws: PretendAws, client: Aws) -> None:
    aws.fault("deny", service="fsx", action="DescribeFileSystems")
    aws.fault("deny", service="resourcegroupstaggingapi")
    Builder(aws, "demo").shelves()
    found = find(client, "demo")
    assert ids(found, UNSEEN) == {"FSx file system", "what only the tagging API lists"}
    assert ids(found, "S3 bucket") == {"demo-checkpoints"}  # its own service told
    assert "AccessDenied" in json.dumps([one.why for one in found])


def test_the_order_of_removal_has_no_circle_and_no_unknown_name() -> None:
    left = {kind.name: set(kind.after) for kind in KINDS}
    assert set().union(*left.values()) <= set(left)
    while left:
        free = {name for name, after in left.items() if not after & set(left)}
        assert free, left
        left = {name: after for name, after in left.items() if name not in free}


def test_the_search_does_not_grow_with_the_roles_of_others(aws: PretendAws, client: Aws) -> None:
    stack = Builder(aws, "demo")
    stack.identity()
    for number in range(25):
        aws.role(f"theirs-{number}", "ec2.amazonaws.com")
    aws.client("iam").create_role(
        RoleName="other-name",
        AssumeRolePolicyDocument=TRUST,
        Description="nodes (playrunner demo)",
        Tags=stack.list,
    )
    aws.control("DELETE", "calls")
    found = {one.id for one in find(client, "demo") if one.kind == "IAM role"}
    assert found == {"demo-machine", "other-name"}
    assert len(aws.calls("GetRole")) == 2
