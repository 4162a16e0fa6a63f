"""Deliberate faults in what a device does with numbers: `protocol/native` as the device has it."""

from tests.mutants.mutant import Mutant
from tests.mutants.setups import APART, ONCE, RESEND, VERIFY

NUMBERS = "protocol.native.numbers"
MEMORY = "protocol.native.memory"
RESPONDER = "protocol.native.responder"

DEVICE_RULES = [
    Mutant("nothing is recognised as a repeat", NUMBERS,
           "        return _spent(live.slot, content, request.attempt)\n    if request.seq == live.last + 1 and",
           "        return None\n    if request.seq == live.last + 1 and", RESEND),
    Mutant("equal only: any number but the last one is new", NUMBERS,
           "    if request.seq == live.last + 1 and request.seq <= SEQ_MAX:\n",
           "    if request.seq <= SEQ_MAX:\n", RESEND),
    Mutant("less or equal: whatever has a number up to the last one was done", NUMBERS,
           "    if live.slot and request.seq == live.last:\n"
           "        return _spent(live.slot, content, request.attempt)\n",
           "    if live.slot and request.seq <= live.last:\n"
           '        text = live.slot.text if request.payload else ""\n'
           "        return CommandReply(live.slot.status, request.attempt, True, text)\n", ONCE),
    Mutant("the content of a repeat is not compared", NUMBERS,
           "    if content != slot.digest:\n", "    if not content:\n", ONCE),
    Mutant("the answer to a repeat is made anew", NUMBERS,
           "    return CommandReply(slot.status, attempt, True, slot.text)\n",
           "    return CommandReply(Status.OK, attempt, True, slot.text)\n", RESEND),
    Mutant("a busy device takes what it cannot do now for done", NUMBERS,
           "Status.IN_PROGRESS if same else Status.BUSY", "Status.IN_PROGRESS if same else Status.OK", ONCE),
    Mutant("a repeat of the running command starts it again", NUMBERS,
           "    if running:\n        same", "    if running and running.digest != content:\n        same", RESEND),
    Mutant("a reconnect makes the device forget the last number", RESPONDER,
           '        """A byte stream has ended. Sessions and a running command go on."""\n',
           "        self._live.last, self._live.slot = 0, None\n", RESEND),
    Mutant("a number is on record before the effect", MEMORY,
           "        unknown = Status.INDETERMINATE\n", "        unknown = Status.OK\n", APART),
    Mutant("a number is on record only after the effect", RESPONDER,
           "        if self.tier < 2 or self._atomic:\n", "        if running.digest:\n", APART),
    Mutant("a boot keeps the session and forgets the last number", MEMORY,
           "        if self.tier == 1:\n            return kept\n",
           "        if self.tier == 1:\n            return replace(kept, session=self.session)\n", RESEND),
    Mutant("a boot cannot be told from the one before", MEMORY,
           "    return (boots + 1) & BOOT_ID_MAX or 1\n", "    return boots & BOOT_ID_MAX or 1\n", RESEND),
    Mutant("a session number comes again after a boot", MEMORY,
           "        return (self._boots << 16 | self._opens) & SESSION_MAX\n", "        return self._opens\n", VERIFY),
    Mutant("any epoch opens a session", RESPONDER,
           "        if not self.epoch < request.epoch <= EPOCH_MAX:\n",
           "        if request.epoch > EPOCH_MAX:\n", ONCE),
    Mutant("a NOP is answered and consumes nothing", RESPONDER,
           "        if isinstance(request, NopRequest):\n            return self.finish(Status.OK)\n",
           "        if isinstance(request, NopRequest):\n            self.running = None\n"
           "            return self._answer(running.conn, running.request,\n"
           "                                CommandReply(Status.OK, running.request.attempt, False))\n", ONCE),
]  # fmt: skip
