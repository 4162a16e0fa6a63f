"""What commands do on each simulated machine, written apart from every profile.

Effects are written here a second time on purpose: an oracle that read them from a profile would share its
mistakes. What the wire looks like is no business of a machine.
"""

from simulator.equipment.controller import Controller
from simulator.equipment.machine import Equipment, Result, Verdict

__all__ = ["Controller", "Equipment", "Result", "Verdict"]
