"""The pretend AWS can show an account as it was some seconds ago."""

from __future__ import annotations

from playrunner.sandbox.aws.api.lag import Lag


def test_a_read_goes_back_and_forth_until_the_change_is_old_enough() -> None:
    now = [0.0]
    lag = Lag(lambda: {"ec2:*": 10.0}, lambda: now[0])
    assert lag.answer("ec2", "DescribeVpcs", "all", "none") == "none"
    now[0] = 1.0
    lag.changed("ec2", b"<vpcId>vpc-0123456789abcdef0</vpcId>")
    seen = {lag.answer("ec2", "DescribeVpcs", "all", "one") for _ in range(50)}
    assert seen == {"none", "one"}
    now[0] = 11.5
    assert {lag.answer("ec2", "DescribeVpcs", "all", "one") for _ in range(50)} == {"one"}


def test_a_thing_that_is_asked_for_by_its_id_may_not_be_known_yet() -> None:
    now = [0.0]
    lag = Lag(lambda: {"ec2:*": 10.0}, lambda: now[0])
    lag.changed("ec2", b"<vpcId>vpc-0123456789abcdef0</vpcId>")
    request = b"Action=DescribeVpcs&VpcId.1=vpc-0123456789abcdef0"
    found = [lag.missing("ec2", "DescribeVpcs", request) for _ in range(50)]
    assert ("InvalidVpcID.NotFound", "vpc-0123456789abcdef0") in found and None in found
    now[0] = 10.5
    assert not any(lag.missing("ec2", "DescribeVpcs", request) for _ in range(50))


def test_calls_that_are_not_named_are_never_late() -> None:
    lag = Lag(lambda: {"ec2:DescribeVpcs": 10.0})
    lag.answer("ec2", "DescribeSubnets", "all", "old")
    lag.changed("ec2", b"subnet-0123456789abcdef0")
    assert {lag.answer("ec2", "DescribeSubnets", "all", "new") for _ in range(50)} == {"new"}
