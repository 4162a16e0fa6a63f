"""Can a lab's own library talk to our simulated text device? pyvisa-py, over a raw socket."""

import warnings
from pathlib import Path

import pytest

from tests.cli.process_rig import DeviceProcess

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it tells of the interfaces that this machine has not
    import pyvisa

TIMEOUT_MS = 5000


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pyvisa_queries_the_simulated_controller(quick_home: Path, end: str) -> None:
    """Reads and a change; with either line end, the device's ledger has the change once."""
    device = DeviceProcess(quick_home, profile="demo/controller-line")
    host, _, port = device.url.removeprefix("tcp://").partition(":")
    manager = pyvisa.ResourceManager("@py")
    try:
        instrument = manager.open_resource(
            f"TCPIP::{host}::{port}::SOCKET", read_termination="\n", write_termination=end, timeout=TIMEOUT_MS
        )
        assert isinstance(instrument, pyvisa.resources.MessageBasedResource)
        assert instrument.query("GET offset").strip() == "OK 10"
        assert instrument.query("ADJUST offset +5").strip() == "OK 15"
        assert instrument.query("GET offset").strip() == "OK 15"
        assert instrument.query("SET offset 4711").startswith("ERR ")
        assert device.executed == {"ADJUST offset +5": 1}
    finally:
        manager.close()
        device.close()
