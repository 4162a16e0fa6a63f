"""What have all stations in common whose equipment does not number its commands?

The agent counts for itself, owes and pays, and asks for the serial number where the profile says how.
"""

import re
from typing import NoReturn

from agent.dialects.debts import Debts, Loose
from agent.evidence import NotSent, Sent
from agent.exchange import Lost
from agent.leases import Lease, LeaseLost
from agent.operation import Cause
from agent.registry import WrongDevice
from agent.secrets import Veil
from agent.station import Expected, Identity, Means, Patience, Station, check_identity
from agent.steps import Send, Settle
from devices.profile import Profile
from logs.text import escape

_SERIAL = "{serial}"
DATED_S = 0.25
"""A copy that leaves so much later than it was drawn is dated anew."""


class UnnumberedStation:
    """One device without numbers in the hands of this process."""

    def __init__(
        self,
        lease: Lease | None,
        expected: Expected,
        patience: Patience,
        means: Means,
        profile: Profile,
        stream: str | None,
    ) -> None:
        """A station that is not connected yet.

        Args:
            lease: of the device; None where nothing but reads will be asked.
            expected: who must answer.
            patience: for every exchange.
            means: what it works with.
            profile: how the device talks.
            stream: names the stream where opening anew does not cut it, else None.
        """
        self._lease = lease
        self._expected = expected
        self._patience = patience
        self._means = means
        self._profile = profile
        self._debts = Debts(means, stream, max(profile.timing.late_s, patience.silence_s))
        self._before = Loose(self._debts.now, None)
        self._drawn_s, self._late_s = means.clock.since_start_s(), 0.0

    @property
    def lease(self) -> Lease:
        """The right to write to the device. Raises RuntimeError on a station for reads."""
        if self._lease is None:
            raise RuntimeError("this station was made for reads")
        return self._lease

    @property
    def veil(self) -> Veil:
        """What hides the secrets of commands to this device."""
        return self._means.veil

    @property
    def tells_who_it_is(self) -> bool:
        """Whether the profile says how to ask for the serial number."""
        return self._profile.identity is not None and _SERIAL in self._profile.identity.expect

    def _question(self) -> tuple[str, str | None] | None:
        """What can be asked to see whether anybody answers: a query, and the pattern of its answer where it has one.

        Who it is, else the first setting that can be read; None where the profile names neither.
        """
        if self._profile.identity is not None:
            return self._profile.identity.read, self._profile.identity.reply
        asked = (each for each in self._profile.settings.values() if each.read is not None)
        return next(((each.read or "", each.reply) for each in asked), None)

    def elsewhere(self, at: str) -> Station:
        """A station for reads where a command moves the device."""
        if self._means.elsewhere is None:
            raise TypeError("this station knows of no other address")
        return self._means.elsewhere(at)

    async def take_over(self) -> NotSent:
        """There is nothing to take over: the equipment does not know whose it is."""
        return NotSent(
            Cause.UNFIT, "the equipment does not know who uses it, so there is nothing to take over"
        )

    def draw(self, step: Send, conn: int, late_s: float) -> Sent:
        """The copy that is to leave, under the agent's own number for the command; nothing is sent yet.

        It may be on its way until `late_s` from now. Raises StoreError.
        """
        self._drawn_s, self._late_s = self._means.clock.since_start_s(), late_s
        sent = Sent(step.attempt, conn, step.text, self.lease.number + (step.attempt == 1))
        self._before = self._debts.copy_leaves(self.lease, sent, late_s)
        self.lease.number = sent.seq
        return sent

    def put_back(self, sent: Sent) -> None:
        """The copy did not get on record. Raises StoreError."""
        self.lease.number -= sent.attempt == 1
        self._answered()

    def _stood_still(self) -> Lost | None:
        """Why the copy may not be written any more: no number tells us from whoever has taken the device over.

        Where it may, but leaves later than it was drawn, all that waits for it counts from now. Raises StoreError.
        """
        if not self._means.leases.is_fresh(self.lease):
            why = "this process stood still for longer than its lease, so another one may have the device"
            return Lost(why, left=False)
        if self._means.clock.since_start_s() - self._drawn_s > DATED_S:
            try:
                self._debts.date_anew(self.lease, self._late_s)
            except LeaseLost as lost:
                return Lost(str(lost), left=False)
        return None

    def _answered(self) -> None:
        """The last drawn copy is under way no more, and nothing will come back. Raises StoreError."""
        self._debts.copy_answered(self.lease, self._before)

    async def settle(self, step: Settle) -> NoReturn:
        """Never asked for: a command without a number cannot be settled."""
        raise TypeError(f"no {step} without numbers")

    def _identified(self, expect: str, answer: str) -> Identity:
        """Who gave this answer to the profile's question. Raises WrongDevice, Held, LeaseLost, StoreError."""
        want, model = self._expected, self._profile.model
        serial = serial_in(expect, answer, want.serial, want.url)
        if serial is not None:
            check_identity(self._means.registry, self._lease, want, model or self._profile.name, serial)
        return Identity(serial, model)


def serial_in(expect: str, answer: str, serial: str | None, url: str) -> str | None:
    """The serial number in an answer; None where the profile's `expect` names none.

    Args:
        expect: the answer of the right device, with `{serial}` where its number stands.
        answer: what the device said.
        serial: the number that the inventory asks for, None where it names none.
        url: where the device was met, for the message.

    Raises:
        WrongDevice: the answer is another one.
    """
    front, named, back = expect.partition(_SERIAL)
    pattern = re.escape(front) + ("(.+)" if named else "") + re.escape(back)
    match = re.fullmatch(pattern, answer.strip())
    if match is None:
        wanted = expect.replace(_SERIAL, serial or "…")
        raise WrongDevice(f"'{escape(answer)}' answers at {url}, '{wanted}' is expected")
    return match[1].strip() if named else None
