"""aws.capacity_reservation: where a reservation of machines is, and whether it can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.hostside.module import Failed, Probe

if TYPE_CHECKING:
    from playrunner.run.context import Context

DAY_HOURS, MOST_OFFERS = 24, 3
_USABLE = ("active", "scheduled", "pending", "payment-pending", "assessing")


class CapacityReservation(Probe):
    """A capacity reservation, or a capacity block; its zone decides where its machines are."""

    in_background: ClassVar[bool] = True

    id: str  # as cr-0123456789abcdef0
    instance_type: str = ""  # the type that it must be of

    def look(self, ctx: Context) -> dict[str, Any]:
        answer = ctx.aws.read(
            "ec2",
            "describe_capacity_reservations",
            missing=("InvalidCapacityReservationId.NotFound",),
            CapacityReservationIds=[self.id],
        )
        reservations = (answer or {}).get("CapacityReservations") or ()
        if not reservations:
            raise Failed(
                f"there is no capacity reservation {self.id} in {ctx.aws.region}{self._offers(ctx)}"
            )
        reservation = dict(reservations[0])
        if self.instance_type and reservation["InstanceType"] != self.instance_type:
            raise Failed(
                f"{self.id} is a reservation of {reservation['InstanceType']}, not of"
                f" {self.instance_type}: instance_types must name its type"
            )
        if reservation["State"] not in _USABLE:
            raise Failed(f"the capacity reservation {self.id} is {reservation['State']}")
        return reservation

    def _offers(self, ctx: Context) -> str:
        """What blocks of the type AWS offers for a day, with their fees; empty when none are."""
        if not self.instance_type:
            return ""
        try:
            answer = ctx.aws.read(
                "ec2",
                "describe_capacity_block_offerings",
                InstanceType=self.instance_type,
                InstanceCount=1,
                CapacityDurationHours=DAY_HOURS,
            )
        except (Refused, Unanswered):
            return ""  # no block of this type, or no right to ask: the reservation is what counts
        offers = [
            f"{offer['AvailabilityZone']} from {offer['StartDate']:%Y-%m-%d %H:%M}"
            f" ({offer['UpfrontFee']} {offer['CurrencyCode']})"
            for offer in answer["CapacityBlockOfferings"][:MOST_OFFERS]
        ]
        return (
            f"; blocks of one {self.instance_type} for a day are offered in {', '.join(offers)}"
            if offers
            else ""
        )
