"""`ackonce get` and `probe`: what they print, which code they end with, and that they change nothing."""

from pathlib import Path

import pytest

from tests.cli.bench import Bench


def test_get(bench: Bench) -> None:
    """One row for each setting, in the order asked for, with its unit; JSON has exactly four fields."""
    device = bench.device(timeout="5s")
    plain = bench.type("get", "d1", "offset", "interval")
    assert (plain.code, plain.lines) == (0, ["d1\toffset\t10\t0.1 K", "d1\tinterval\t10\ts"])
    [record] = bench.type("get", "d1", "offset", "--json").records
    assert record == {"device": "d1", "setting": "offset", "value": "10", "unit": "0.1 K"}
    assert (device.copies, device.device.counts["open"]) == ([], 0)


def test_get_beside_a_doubt(bench: Bench) -> None:
    """A doubt does not stop reads."""
    bench.device("cmd 1: reboot_after", timeout="0.2s")
    assert bench.send("d1", "BEEP")[1]["outcome"] == "in_doubt"
    assert bench.type("get", "d1", "offset").code == 0


def test_get_from_several(bench: Bench) -> None:
    """A device that does not answer has null and code 7, and does not hide the others, before or after it."""
    bench.device(timeout="5s")
    bench.device().unplug()
    bench.device("read *: drop_request", timeout="0.05s")
    bench.device(timeout="5s")
    ended = bench.type("get", "d*", "interval", "--json")
    assert (ended.code, [record["value"] for record in ended.records]) == (7, ["10", None, None, "10"])
    assert "d2: nothing was read" in ended.err
    assert "When that is mended: ackonce probe d2\n" in ended.err
    assert "d3: interval: no answer\nSee what it answers: ackonce get d3 interval -vv\n" in ended.err


def test_get_a_lost_answer(bench: Bench) -> None:
    """A read is asked again after silence."""
    bench.device("read 1: drop_ack", timeout="0.2s")
    assert bench.type("get", "d1", "offset").lines == ["d1\toffset\t10\t0.1 K"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("get d1 offse", "Did you mean 'offset'?"),
        ("get d1 zzz", "Known: interval, offset"),
        ("get nobody offset", "unknown device"),
        ("get d1", "Missing argument"),
        ("probe", "Missing argument"),
        ("probe d1 nobody", "unknown device"),
        ("get 127.0.0.1:7001 offset", "has no scheme; did you mean tcp://127.0.0.1:7001?"),
        ("get TCP://127.0.0.1:7001 offset", "Give it with --profile NAME"),
        ("probe /dev/ttyS0", "has no scheme; did you mean serial:/dev/ttyS0?"),
        ("probe http://10.3.0.1", "is not an address: tcp://HOST:PORT"),
        ("probe group:7001", "unknown group '7001'"),
        ("probe tag:2024", "unknown tag '2024'"),
        ("probe d1 --take-over", "--reason"),
    ],
)
def test_mistakes(bench: Bench, words: str, part: str) -> None:
    """Exit 2 before any connection."""
    device = bench.device()
    ended = bench.type(*words.split())
    assert (ended.code, ended.out, device.connections) == (2, "", 0)
    assert part in ended.err


def test_a_device_that_is_called_as_a_port(bench: Bench) -> None:
    """A name of the inventory that looks like the path of a port is the name."""
    device = bench.device(timeout="5s")
    bench.enter("/dev/ttyS0", f'{{profile: demo/controller, url: "{device.url}"}}')
    assert bench.type("get", "/dev/ttyS0", "offset").lines == ["/dev/ttyS0\toffset\t10\t0.1 K"]


@pytest.mark.parametrize("words", ["get {url} offset", "send {url} SET interval 3"])
def test_what_to_type_next_for_a_url(bench: Bench, words: str) -> None:
    """The command that is named after a failure runs as it is written, for a URL with its profile."""
    device = bench.device()
    device.unplug()
    ended = bench.type(*words.format(url=device.url).split(), "--profile", "demo/controller")
    [after] = [line for line in ended.err.splitlines() if line.startswith("When that is mended: ackonce ")]
    device.plug_in()
    assert bench.type(*after.removeprefix("When that is mended: ackonce ").split()).code == 0


def test_get_from_the_wrong_device(bench: Bench) -> None:
    """A device with another serial than the inventory's is not read."""
    device = bench.device(entry="serial: OTHER")
    ended = bench.type("get", "d1", "offset", "--json")
    assert (ended.code, ended.records[0]["value"]) == (7, None)
    assert device.device.counts["read"] == 0


def test_probe(bench: Bench) -> None:
    """Who answers, one row each; unreachable and wrong devices are rows too and make it 7."""
    bench.device(timeout="5s", tier=2)
    bench.device().unplug()
    bench.device(entry="serial: OTHER")
    ended = bench.type("probe", "d*", "--json")
    first, second, third = ended.records
    assert ended.code == 7
    assert float(first.pop("round_trip").removesuffix(" ms")) > 0
    assert first == {
        "device": "d1",
        "state": "ok",
        "serial": "SN-1",
        "model": "demo",
        "firmware": "1.0",
        "tier": 2,
        "epoch": 0,
        "message": None,
    }
    assert (second["state"], second["serial"]) == ("unreachable", None)
    assert (third["state"], third["serial"]) == ("wrong device", "SN-3")
    assert "OTHER is expected" in third["message"]


def test_take_over(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A device of another store is ours after probe --take-over with a reason, which the log keeps; sends go on."""
    device = bench.device(timeout="5s")
    for _ in range(3):
        device.reboot()
        bench.send("d1", "BEEP")
    monkeypatch.setenv("ACKONCE_HOME", str(tmp_path / "another"))
    assert bench.send("d1", "BEEP")[0] == 8
    ended = bench.type("probe", "d1", "--take-over", "--reason", "the old laptop is gone", "--json")
    [record] = ended.records
    assert (ended.code, record["state"]) == (0, "taken over")
    assert record["epoch"] > 3
    assert "the old laptop is gone" in bench.type("log", "-v").out
    assert bench.send("d1", "SET", "interval", "30")[0] == 0
    assert device.executed == ["BEEP"] * 3 + ["SET interval 30"]
