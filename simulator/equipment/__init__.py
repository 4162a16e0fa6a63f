"""What commands do on each simulated machine, written apart from every profile.

Effects are written here a second time on purpose: an oracle that read them from a profile would share its
mistakes. What the wire looks like is no business of a machine.
"""

from simulator.equipment.adder import Adder
from simulator.equipment.controller import Controller
from simulator.equipment.energy_meter import EnergyMeter
from simulator.equipment.machine import Equipment, Result, Verdict
from simulator.equipment.register_machine import RegisterMachine
from simulator.equipment.relay_board import RelayBoard

__all__ = [
    "Adder",
    "Controller",
    "EnergyMeter",
    "Equipment",
    "RegisterMachine",
    "RelayBoard",
    "Result",
    "Verdict",
]
