"""The state file: what a device knows after its process was killed at any moment."""

import json
from pathlib import Path

import pytest

from protocol.native.codes import Status
from protocol.native.memory import Memory, Slot
from protocol.native.messages import Record
from simulator.device import SimulatedDevice
from simulator.effects import DiskError
from simulator.equipment import Controller
from simulator.ledger import Execution, Ledger
from simulator.loop import run
from simulator.state import Saved, StateError, StateFile
from tests.simulator.bench import ADJUST, Client

LAST = Execution(n=1, text="BEEP", value_after="", boot=7, session=1, seq=1, at_s=0.5)
FULL = Saved(
    Memory(2, 7, 3, 0x70001, 1, Slot(9, Status.OK, "15"), Record(0x70001, 1, 9, Status.OK)),
    Controller().durable(),
    LAST,
)


def device_over(folder: Path, tier: int = 2, *, atomic: bool = True) -> SimulatedDevice:
    """The device of a folder, as a newly started process makes it."""
    state, ledger = StateFile(folder / "state"), Ledger(folder / "ledger")
    return SimulatedDevice(Controller(), tier=tier, atomic=atomic, ledger=ledger, state=state)


@pytest.mark.parametrize(
    "saved",
    [FULL, Saved(Memory.blank(0), {}, None), Saved(Memory(2, 1, slot=Slot(1, Status.OK, None)), {}, None)],
)
def test_load_gives_what_was_saved(tmp_path: Path, saved: Saved) -> None:
    """Every field comes back as it was."""
    file = StateFile(tmp_path / "state")
    assert file.load() is None
    file.save(saved)
    assert file.load() == saved


def test_save_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    """Whoever has the old file open still reads all of it: it is replaced, never rewritten."""
    file = StateFile(tmp_path / "state")
    file.save(FULL)
    before = file.path.read_text()
    with file.path.open() as old:
        file.save(Saved(Memory.blank(2), {}, None))
        assert old.read() == before
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_damaged_files_are_refused_by_name(tmp_path: Path, cut: int) -> None:
    """A file cut anywhere is no state, and is left as it is."""
    path = tmp_path / "state"
    StateFile(path).save(FULL)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StateError, match="state: not the state of a simulated device"):
        StateFile(path).load()


@pytest.mark.parametrize(
    ("where", "value"),
    [("memory", 1), ("values", {"offset": "10"}), ("values", {"offset": True}), ("last", {"n": 1})],
)
def test_other_shapes_are_refused(tmp_path: Path, where: str, value: object) -> None:
    """JSON of another shape is no state."""
    path = tmp_path / "state"
    StateFile(path).save(FULL)
    path.write_text(json.dumps({**json.loads(path.read_text()), where: value}))
    with pytest.raises(StateError):
        StateFile(path).load()


def test_state_of_another_kind_of_device_is_refused(tmp_path: Path) -> None:
    """Tier and machine must be those that were saved; a folder is no file."""
    StateFile(tmp_path / "state").save(FULL)
    with pytest.raises(StateError, match="tier 2"):
        device_over(tmp_path, tier=1)
    StateFile(tmp_path / "state").save(Saved(Memory.blank(2), {"speed": 1}, None))
    with pytest.raises(StateError, match="controller saves"):
        device_over(tmp_path)
    with pytest.raises(StateError, match="not a regular file"):
        StateFile(tmp_path).load()


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_restarted_process_is_a_boot(tmp_path: Path, tier: int) -> None:
    """Durable values, boots, ledger and what the tier keeps go on; everything else is new."""
    boots: list[int] = []

    async def main() -> None:
        client = Client(device_over(tmp_path, tier))
        session = await client.open()
        assert await client.command(session, 1) is not None
        boots.append(client.device.boot_id)
        client = Client(device_over(tmp_path, tier))
        boots.append(client.device.boot_id)
        assert [await client.read(f"GET {name}") for name in ("offset", "boots")] == ["15", "2"]
        assert client.device.ledger.count(ADJUST) == 1
        again = await client.command(session, 1, attempt=2)
        assert again is not None
        assert again.status is (Status.OK if tier == 2 else Status.BAD_SESSION)
        assert client.device.memory.epoch == (0 if tier == 0 else 1)

    run(main)
    assert tier == 0 or boots[1] == boots[0] + 1  # tier 0 draws from the seed, which both share here


@pytest.mark.parametrize("tier", [0, 1, 2])
@pytest.mark.parametrize("atomic", [True, False])
def test_kill_between_state_and_ledger_loses_no_effect(
    tmp_path: Path, tier: int, atomic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start enters the effect that the device knows of, once, and a repeat never doubles it."""

    def killed(_ledger: Ledger, _execution: Execution) -> None:
        raise OSError(5, "killed")

    async def main() -> None:
        client = Client(device_over(tmp_path, tier, atomic=atomic))
        session = await client.open()
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "append", killed)
            with pytest.raises(DiskError):
                await client.command(session, 1)
        assert (tmp_path / "ledger").read_bytes() == b""
        for _ in range(2):  # a second restart enters nothing again
            device = device_over(tmp_path, tier, atomic=atomic)
            assert device.values()["offset"] == 15
            assert device.ledger.count(ADJUST) == 1
        client = Client(device)
        await client.command(session, 1, attempt=2)
        assert device.ledger.count(ADJUST) == 1

    run(main)


@pytest.mark.parametrize("atomic", [True, False])
def test_kill_before_the_state_is_written_loses_the_effect_whole(
    tmp_path: Path, atomic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither value nor ledger nor a final record know of it."""

    async def main() -> None:
        client = Client(device_over(tmp_path, atomic=atomic))
        session = await client.open()
        save, writes = StateFile.save, []

        def killed(file: StateFile, saved: Saved) -> None:
            writes.append(saved)
            if len(writes) == (1 if atomic else 2):  # not atomic: the first one stores INDETERMINATE
                raise OSError(5, "killed")
            save(file, saved)

        with monkeypatch.context() as patch:
            patch.setattr(StateFile, "save", killed)
            with pytest.raises(DiskError):
                await client.command(session, 1)
        device = device_over(tmp_path, atomic=atomic)
        assert (device.values()["offset"], len(device.ledger)) == (10, 0)
        record = device.memory.record
        assert (record.status if record else None) is (None if atomic else Status.INDETERMINATE)

    run(main)


def test_effect_and_record_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tier 2, atomic: no state file ever holds the one without the other."""

    async def main() -> None:
        client = Client(device_over(tmp_path))
        session = await client.open()
        save, written = StateFile.save, []

        def noting(file: StateFile, saved: Saved) -> None:
            written.append(
                (saved.values["offset"], saved.memory is not None and saved.memory.record is not None)
            )
            save(file, saved)

        with monkeypatch.context() as patch:
            patch.setattr(StateFile, "save", noting)
            await client.command(session, 1)
        assert written == [(15, True)]

    run(main)


def test_ledger_of_another_time_gets_no_old_entry(tmp_path: Path) -> None:
    """A new ledger beside an old state begins empty and at 1."""

    async def main() -> None:
        client = Client(device_over(tmp_path))
        session = await client.open()
        for seq in (1, 2):
            await client.command(session, seq)
        (tmp_path / "ledger").unlink()
        device = device_over(tmp_path)
        assert len(device.ledger) == 0
        await Client(device).command(session, 3)
        assert [entry.n for entry in device.ledger.entries] == [1]

    run(main)


def test_state_without_a_ledger_file_counts_this_run(tmp_path: Path) -> None:
    """An in-memory ledger does not inherit the last run's effect."""

    async def main() -> None:
        def device() -> SimulatedDevice:
            return SimulatedDevice(Controller(), tier=2, state=StateFile(tmp_path / "state"))

        client = Client(device())
        await client.command(await client.open(), 1)
        again = device()
        assert len(again.ledger) == 0
        again.reboot()
        assert len(again.ledger) == 0

    run(main)
