"""The pretend EKS: clusters, nodegroups, add-ons and access with the life cycles and refusals of
the real one."""

from __future__ import annotations

from typing import Any

from tests.support.aws.sandbox import PretendAws, refused
from tests.support.until import until


def test_a_cluster_takes_time_and_then_has_a_network_and_an_identity(aws: PretendAws) -> None:
    eks, ec2 = aws.client("eks"), aws.client("ec2")
    vpc, subnets = aws.network()
    role = aws.role("control", "eks.amazonaws.com")
    made = eks.create_cluster(
        name="demo", version="1.33", roleArn=role, resourcesVpcConfig={"subnetIds": subnets}
    )["cluster"]
    assert made["status"] == "CREATING"
    assert "endpoint" not in made
    cluster = until(
        lambda: eks.describe_cluster(name="demo")["cluster"],
        lambda cluster: cluster["status"] == "ACTIVE",
    )
    net = cluster["resourcesVpcConfig"]
    assert net["vpcId"] == vpc
    assert cluster["identity"]["oidc"]["issuer"].startswith(
        "https://oidc.eks.us-west-2.amazonaws.com/id/"
    )
    group = ec2.describe_security_groups(GroupIds=[net["clusterSecurityGroupId"]])[
        "SecurityGroups"
    ][0]
    assert {"Key": "kubernetes.io/cluster/demo", "Value": "owned"} in group["Tags"]
    assert cluster["certificateAuthority"]["data"]


def test_nonsense_is_refused(aws: PretendAws) -> None:
    eks = aws.client("eks")
    _, subnets = aws.network()
    role, worker = aws.role("control", "eks.amazonaws.com"), aws.role("worker", "ec2.amazonaws.com")

    def create(version: str = "1.33", role: str = role, subnets: list[str] = subnets) -> Any:
        return lambda: eks.create_cluster(
            name="demo", version=version, roleArn=role, resourcesVpcConfig={"subnetIds": subnets}
        )

    assert refused(create(version="1.17")) == "InvalidParameterException"
    assert refused(create(role=worker)) == "InvalidParameterException"
    assert refused(create(role=role + "x")) == "InvalidParameterException"
    assert refused(create(subnets=subnets[:1])) == "InvalidParameterException"
    assert refused(create(subnets=[*subnets, "subnet-0"])) == "InvalidParameterException"
    assert eks.list_clusters()["clusters"] == []


def test_the_same_name_twice_is_refused_and_the_same_token_is_not(aws: PretendAws) -> None:
    eks = aws.client("eks")
    _, subnets = aws.network()
    wish = {
        "name": "demo",
        "roleArn": aws.role("control", "eks.amazonaws.com"),
        "resourcesVpcConfig": {"subnetIds": subnets},
    }
    first = eks.create_cluster(**wish, clientRequestToken="one")["cluster"]
    assert eks.create_cluster(**wish, clientRequestToken="one")["cluster"]["arn"] == first["arn"]
    assert refused(lambda: eks.create_cluster(**wish)) == "ResourceInUseException"


def test_a_nodegroup_has_instances_in_its_subnets(aws: PretendAws) -> None:
    _, subnets = aws.network()
    aws.cluster(subnets)
    sizes = {"minSize": 0, "desiredSize": 2, "maxSize": 3}
    made = aws.nodegroup(
        "demo",
        subnets,
        wait=False,
        scalingConfig=sizes,
        instanceTypes=["g4dn.xlarge"],
        capacityType="SPOT",
    )
    assert (made["status"], aws.instances()) == ("CREATING", [])
    assert aws.settled("demo")["status"] == "ACTIVE"
    found = aws.instances()
    assert sorted(one["SubnetId"] for one in found) == sorted(subnets)
    assert {one["InstanceLifecycle"] for one in found} == {"spot"}
    assert all({"Key": "eks:nodegroup-name", "Value": "workers"} in one["Tags"] for one in found)
    until(
        lambda: {one["State"]["Name"] for one in aws.instances()},
        lambda states: states == {"running"},
    )


def test_a_nodegroup_grows_and_shrinks(aws: PretendAws) -> None:
    eks = aws.client("eks")
    _, subnets = aws.network()
    aws.cluster(subnets)
    aws.nodegroup("demo", subnets, scalingConfig={"minSize": 1, "desiredSize": 1, "maxSize": 4})
    sizes = {"minSize": 1, "desiredSize": 3, "maxSize": 4}
    eks.update_nodegroup_config(
        clusterName="demo",
        nodegroupName="workers",
        scalingConfig=sizes,
        labels={"addOrUpdateLabels": {"a": "b"}},
    )
    found = aws.settled("demo")
    assert (found["scalingConfig"], found["labels"], len(aws.instances())) == (sizes, {"a": "b"}, 3)
    wrong = {"minSize": 3, "desiredSize": 2, "maxSize": 4}

    def update():
        return eks.update_nodegroup_config(
            clusterName="demo", nodegroupName="workers", scalingConfig=wrong
        )

    assert refused(update) == "InvalidParameterException"


def test_a_cluster_goes_after_its_nodegroups_and_takes_its_network_along(aws: PretendAws) -> None:
    eks, ec2 = aws.client("eks"), aws.client("ec2")
    _, subnets = aws.network()
    group = aws.cluster(subnets)["resourcesVpcConfig"]["clusterSecurityGroupId"]
    aws.nodegroup("demo", subnets)
    assert refused(lambda: eks.delete_cluster(name="demo")) == "ResourceInUseException"
    assert refused(lambda: ec2.delete_subnet(SubnetId=subnets[0])) == "DependencyViolation"
    eks.delete_nodegroup(clusterName="demo", nodegroupName="workers")
    until(lambda: eks.list_nodegroups(clusterName="demo")["nodegroups"], lambda names: not names)
    until(
        lambda: {one["State"]["Name"] for one in aws.instances()},
        lambda states: states == {"terminated"},
    )
    assert eks.delete_cluster(name="demo")["cluster"]["status"] == "DELETING"
    until(lambda: eks.list_clusters()["clusters"], lambda names: not names)
    assert refused(lambda: eks.describe_cluster(name="demo")) == "ResourceNotFoundException"
    assert (
        refused(lambda: ec2.describe_security_groups(GroupIds=[group])) == "InvalidGroup.NotFound"
    )
    for subnet in subnets:
        ec2.delete_subnet(SubnetId=subnet)


def test_ssh_to_the_nodes_has_a_group_of_its_own(aws: PretendAws) -> None:
    ec2, eks = aws.client("ec2"), aws.client("eks")
    _, subnets = aws.network()
    aws.cluster(subnets)
    ec2.create_key_pair(KeyName="mine", KeyType="ed25519")
    found = aws.nodegroup("demo", subnets, remoteAccess={"ec2SshKey": "mine"})
    group = found["resources"]["remoteAccessSecurityGroup"]
    assert all(
        group in {one["GroupId"] for one in instance["SecurityGroups"]}
        for instance in aws.instances()
    )
    eks.delete_nodegroup(clusterName="demo", nodegroupName="workers")
    until(lambda: eks.list_nodegroups(clusterName="demo")["nodegroups"], lambda names: not names)
    assert (
        refused(lambda: ec2.describe_security_groups(GroupIds=[group])) == "InvalidGroup.NotFound"
    )


def test_a_zone_without_capacity_is_avoided_and_none_at_all_is_reported(aws: PretendAws) -> None:
    _, subnets = aws.network()
    aws.cluster(subnets)
    aws.fault("insufficient_capacity", zone="us-west-2a", instance_type="g4dn.*")
    aws.nodegroup("demo", subnets, name="both", instanceTypes=["g4dn.xlarge"])
    assert {one["SubnetId"] for one in aws.instances()} == {subnets[1]}
    aws.nodegroup("demo", subnets[:1], name="one", instanceTypes=["g4dn.xlarge"], wait=False)
    failed = aws.settled("demo", "one")
    issue = failed["health"]["issues"][0]
    assert (failed["status"], issue["code"]) == ("CREATE_FAILED", "AsgInstanceLaunchFailures")
    assert "InsufficientInstanceCapacity" in issue["message"]
    aws.client("eks").delete_nodegroup(clusterName="demo", nodegroupName="one")


def test_a_creation_can_be_made_to_fail(aws: PretendAws) -> None:
    _, subnets = aws.network()
    aws.cluster(subnets)
    aws.fault(
        "fails_later",
        service="eks",
        action="CreateNodegroup",
        name="workers",
        code="NodeCreationFailure",
        message="did not join",
    )
    failed = aws.nodegroup("demo", subnets)
    assert failed["status"] == "CREATE_FAILED"
    assert failed["health"]["issues"][0]["message"] == "did not join"


def test_add_ons_want_nodes(aws: PretendAws) -> None:
    eks = aws.client("eks")
    _, subnets = aws.network()
    aws.cluster(subnets)
    assert (
        eks.create_addon(clusterName="demo", addonName="coredns")["addon"]["status"] == "CREATING"
    )
    status = lambda: eks.describe_addon(clusterName="demo", addonName="coredns")["addon"]["status"]  # noqa: E731
    until(status, lambda found: found == "DEGRADED")
    aws.nodegroup("demo", subnets)
    until(status, lambda found: found == "ACTIVE")
    assert (
        refused(lambda: eks.create_addon(clusterName="demo", addonName="no-such-thing"))
        == "InvalidParameterException"
    )
    eks.delete_addon(clusterName="demo", addonName="coredns")
    until(lambda: eks.list_addons(clusterName="demo")["addons"], lambda names: not names)


def test_access_entries_and_pod_identities(aws: PretendAws) -> None:
    eks = aws.client("eks")
    _, subnets = aws.network()
    aws.cluster(subnets, accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"})
    who = aws.role("somebody", "ec2.amazonaws.com")
    eks.create_access_entry(clusterName="demo", principalArn=who)
    policy = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
    eks.associate_access_policy(
        clusterName="demo", principalArn=who, policyArn=policy, accessScope={"type": "cluster"}
    )
    found = eks.list_associated_access_policies(clusterName="demo", principalArn=who)[
        "associatedAccessPolicies"
    ]
    assert [one["policyArn"] for one in found] == [policy]
    pods = aws.role("pods", "pods.eks.amazonaws.com")
    wish = {
        "clusterName": "demo",
        "namespace": "default",
        "serviceAccount": "trainer",
        "roleArn": pods,
    }
    eks.create_pod_identity_association(**wish)
    assert refused(lambda: eks.create_pod_identity_association(**wish)) == "ResourceInUseException"
    assert (
        eks.list_pod_identity_associations(clusterName="demo")["associations"][0]["serviceAccount"]
        == "trainer"
    )


def test_control_plane_logs_leave_a_log_group_behind(aws: PretendAws) -> None:
    eks, logs = aws.client("eks"), aws.client("logs")
    _, subnets = aws.network()
    aws.cluster(subnets, logging={"clusterLogging": [{"types": ["api", "audit"], "enabled": True}]})
    eks.delete_cluster(name="demo")
    until(lambda: eks.list_clusters()["clusters"], lambda names: not names)
    assert [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]] == [
        "/aws/eks/demo/cluster"
    ]


def test_versions_move_one_step_at_a_time(aws: PretendAws) -> None:
    eks = aws.client("eks")
    _, subnets = aws.network()
    aws.cluster(subnets, version="1.32")
    assert (
        refused(lambda: eks.update_cluster_version(name="demo", version="1.34"))
        == "InvalidParameterException"
    )
    update = eks.update_cluster_version(name="demo", version="1.33")["update"]
    until(
        lambda: eks.describe_update(name="demo", updateId=update["id"])["update"]["status"],
        lambda status: status == "Successful",
    )
    assert eks.describe_cluster(name="demo")["cluster"]["version"] == "1.33"
    assert "1.17" not in {
        one["clusterVersion"] for one in eks.describe_cluster_versions()["clusterVersions"]
    }
