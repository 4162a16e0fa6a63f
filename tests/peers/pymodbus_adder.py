"""A Modbus server on pymodbus with a register that adds.

    python -m tests.peers.pymodbus_adder WHERE LEDGER

WHERE is `tcp`, `rtu-over-tcp` (a free port of 127.0.0.1 each) or the path of a serial port. The map stands in this
folder's docstring. pymodbus takes requests apart, answers them and keeps the registers; here stands only what a
written register does. Each write that took effect is one JSON line in LEDGER, flushed before its answer leaves.
`listening PORT` on stdout says that it is ready. What goes wrong goes wrong on the way, in `relay.py`.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from pymodbus.constants import ExcCodes
from pymodbus.framer import FramerType
from pymodbus.pdu.device import ModbusDeviceIdentification
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

LIFE_S = 900
SIZE = 32
TOTAL, ADD, FIRST, SECOND, TICKING = 0, 1, 3, 4, 6
LAMP, FLIP, DOOR, READING = 0, 1, 1, 5
READ_HOLDING = 3
COIL_WRITES = {5, 15}


@dataclass(slots=True)
class Adder:
    """What written registers do, and what was written."""

    ledger: Path
    lamp: bool = False

    async def act(
        self,
        function: int,
        _start: int,
        address: int,
        count: int,
        registers: list[int],
        written: list[int] | list[bool] | None,
    ) -> ExcCodes | None:
        """Called by pymodbus before it reads or writes registers, and once more where it reads back a write."""
        touched = range(address, address + (count if written is None else len(written)))
        if written is not None:
            self._write(function, touched, registers, written)
        elif function == READ_HOLDING and (TICKING in touched or TICKING + 1 in touched):
            registers[TICKING] += 1
            registers[TICKING + 1] += 1
        return None

    def _write(
        self, function: int, touched: range, registers: list[int], written: list[int] | list[bool]
    ) -> None:
        if function in COIL_WRITES:
            if LAMP in touched:
                self.lamp = bool(written[LAMP - touched.start])
            if FLIP in touched:
                self.lamp = not self.lamp
                registers[0] = registers[0] & ~1 | self.lamp
        elif ADD in touched:
            registers[TOTAL] = registers[TOTAL] + written[ADD - touched.start] & 0xFFFF
        total = written[TOTAL - touched.start] if TOTAL in touched else registers[TOTAL]
        entry = {"function": function, "address": touched.start, "value": int(written[0])}
        if function not in COIL_WRITES:
            entry["total"] = total
        with self.ledger.open("a") as ledger:
            ledger.write(json.dumps(entry | {"lamp": int(self.lamp)}) + "\n")


def _device(adder: Adder) -> SimDevice:
    held = [0] * SIZE
    held[FIRST], held[SECOND] = 1111, 2222
    coils = SimData(0, values=[False] * SIZE, datatype=DataType.BITS)
    inputs = SimData(0, values=[at == DOOR for at in range(SIZE)], datatype=DataType.BITS)
    registers = SimData(0, values=held, datatype=DataType.REGISTERS)
    readings = SimData(0, values=[4444 * (at == READING) for at in range(SIZE)], datatype=DataType.REGISTERS)
    return SimDevice(1, simdata=([coils], [inputs], [registers], [readings]), action=adder.act)


async def _serve(where: str, device: SimDevice) -> None:
    server: ModbusTcpServer | ModbusSerialServer
    identity = ModbusDeviceIdentification(info_name={"VendorName": "ACME"})  # type: ignore[no-untyped-call]  # theirs
    if where in ("tcp", "rtu-over-tcp"):
        framer = FramerType.SOCKET if where == "tcp" else FramerType.RTU
        server = ModbusTcpServer(device, framer=framer, address=("127.0.0.1", 0), identity=identity)
    else:
        server = ModbusSerialServer(device, framer=FramerType.RTU, port=where, identity=identity)
    await server.serve_forever(background=True)
    sockets = getattr(server.transport, "sockets", ())
    print(f"listening {sockets[0].getsockname()[1] if sockets else 0}", flush=True)
    await asyncio.sleep(LIFE_S)


def main(where: str, ledger: str) -> None:
    """Serve until killed."""
    asyncio.run(_serve(where, _device(Adder(Path(ledger)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
