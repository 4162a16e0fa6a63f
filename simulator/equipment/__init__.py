"""What commands do on each simulated machine, written apart from every profile.

Effects are written here a second time on purpose: an oracle that read them from a profile would share its
mistakes. `EQUIPMENT` lists the machines by the name of the profile that describes them, each to be made with
its serial.
"""

from collections.abc import Callable, Mapping

from simulator.equipment.controller import Controller
from simulator.equipment.machine import Equipment, Result, Verdict

EQUIPMENT: Mapping[str, Callable[[str], Equipment]] = {"demo/controller": Controller}

__all__ = ["EQUIPMENT", "Controller", "Equipment", "Result", "Verdict"]
