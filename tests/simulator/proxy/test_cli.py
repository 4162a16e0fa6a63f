"""`ackonce simulate proxy`: what it prints and how it ends."""

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from simulator.cli import app
from simulator.fault_kinds import LSQ
from simulator.faults import parse
from simulator.proxy import host
from simulator.proxy.faults import PROXY

PATIENCE_S = 10.0
TO = ("--to", "tcp://127.0.0.1:9")


def invoke(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of stdout, lines of stderr."""
    result = CliRunner().invoke(app, ["proxy", *arguments])
    return result.exit_code, result.stdout.splitlines(), result.stderr.splitlines()


def test_says_where_it_listens_and_where_it_leads() -> None:
    """Two lines first, then its counts, of which there are none yet."""
    code, out, err = invoke("--for", "0", *TO)
    assert (code, err, len(out)) == (0, [], 2)
    url = out[0].split()[2]
    assert url.startswith("tcp://127.0.0.1:")
    assert out == [
        f"listening on {url}  to tcp://127.0.0.1:9",
        f"try: ackonce send {url} --profile NAME COMMAND",
    ]


def test_json_is_two_objects() -> None:
    """One where it listens, one with counts; nothing else on stdout."""
    code, out, err = invoke(
        "--for", "0", "--json", "--listen", "pty", "--to", "serial:/dev/nowhere?baud=19200"
    )
    first, last = map(json.loads, out)
    assert (code, err) == (0, [])
    assert first.pop("listening").startswith("serial:/dev/")
    assert (first, last) == ({"to": "serial:/dev/nowhere"}, {"counts": {}})


@pytest.mark.parametrize("verb", ["device", "proxy"])
def test_help_says_where_a_probability_stands(verb: str) -> None:
    """Before the values of its fault, with an example that has both and means what is said."""
    shown = " ".join(CliRunner().invoke(app, [verb, "--help"]).stdout.split())
    assert "its probability stands first, then its values" in shown
    [plan] = re.findall(r'--faults "(seed 7:[^"]*delay 0\.1 0\.8)"', shown)
    drawn = parse(plan, PROXY if verb == "proxy" else LSQ)
    late = [drawn.next("any").seconds("delay") for _ in range(1000)]
    assert set(late) == {0.0, 0.8}
    assert late.count(0.8) == pytest.approx(100, abs=50)


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 2, "Missing option '--to'"),
        ([*TO, "--listen", "127.0.0.1:0"], 2, "neither tcp://HOST:PORT nor pty"),
        ([*TO, "--listen", "tcp://127.0.0.1"], 2, "--listen '127.0.0.1' is not HOST:PORT"),
        (["--to", "rfc2217://x:1"], 2, "neither tcp://HOST:PORT nor serial:PATH"),
        ([*TO, "--link", "port"], 2, "--link names a serial port; it goes with --listen pty."),
        (
            [*TO, "--frame", "lines"],
            2,
            "--frame 'lines' is none of raw, line, cr, zero, mbap, rtu. Did you mean 'line'?",
        ),
        ([*TO, "--frame", "7"], 2, "--frame '7' is none of raw, line, cr, zero, mbap, rtu."),
        (
            [*TO, "--faults", "from 1: dorp"],
            2,
            "--faults: column 9: 'dorp' is not a fault. Did you mean 'drop'?",
        ),
        (
            ["--listen", "pty", "--to", "serial:/dev/null", "--faults", "from 1: drop; seed 1: to rst 0.1"],
            2,
            "--faults: rst resets TCP connections, and there is none on either side. To pull the plug: cut",
        ),
        ([*TO, "--listen", "tcp://192.0.2.1:0"], 7, "Cannot listen on tcp://192.0.2.1:0"),
        ([*TO, "--listen", "pty", "--link", "/dev/null"], 7, "Cannot listen on a serial port"),
    ],
)
def test_mistakes_are_one_clear_sentence(arguments: list[str], code: int, part: str) -> None:
    """Every mistake has its exit code and says what is wrong, without a traceback."""
    result, out, err = invoke("--for", "0", *arguments)
    assert (result, out) == (code, [])
    assert part in " ".join(err)
    assert not any("Traceback" in line for line in err)


def test_mistakes_are_json_where_asked() -> None:
    """With --json the sentence is an object on stdout."""
    code, out, err = invoke("--for", "0", "--json", *TO, "--frame", "x")
    assert (code, err) == (2, [])
    assert json.loads(out[0])["message"].startswith("--frame 'x' is none of")


def test_help_explains_every_fault() -> None:
    """All names of faults stand in the help."""
    result = CliRunner().invoke(app, ["proxy", "--help"])
    assert result.exit_code == 0
    assert [fault for fault in PROXY.faults if f"  {fault} " not in result.stdout] == []


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A peer that answers the first line of one connection with hostile text, then ends it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)

        def answer() -> None:
            link, _ = server.accept()
            with link:
                link.recv(1024)
                link.sendall(b"OK \x1b[2J[red]\\n\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join(PATIENCE_S)


def through_the_proxy(
    monkeypatch: pytest.MonkeyPatch, port: int, *arguments: str
) -> tuple[list[str], list[str]]:
    """One request of a client in another thread, then SIGTERM: stdout and stderr."""
    serve, threads = host._serve, []

    def client(url: str) -> None:
        name, number = url.removeprefix("tcp://").split(":")
        with socket.create_connection((name, int(number)), timeout=PATIENCE_S) as link:
            link.sendall(b"GET a\n")
            while link.recv(1024):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    async def serving(proxy: host.Proxy, limit_s: float | None, listening: host.Listening) -> None:
        def told(url: str) -> None:
            listening(url)
            threads.append(threading.Thread(target=client, args=(url,)))
            threads[-1].start()

        await serve(proxy, limit_s, told)

    monkeypatch.setattr(host, "_serve", serving)
    code, out, err = invoke("--for", str(PATIENCE_S), "--to", f"tcp://127.0.0.1:{port}", *arguments)
    threads[0].join(PATIENCE_S)
    assert code == 0
    return out, err


def test_counts_and_bytes_are_told(monkeypatch: pytest.MonkeyPatch, echo_port: int) -> None:
    """Messages with their bytes, escaped beyond doubt, only with -v; faults always; counts at the end."""
    out, err = through_the_proxy(monkeypatch, echo_port, "-v", "--faults", "from 1: dup")
    assert err == ["to 1: GET a\\n", "from 1: OK \\x1b[2J[red]\\\\n\\n", "fault: dup at from 1"]
    assert out[2:] == [
        "count\tbytes from\t15",
        "count\tbytes to\t6",
        "count\tconnections\t1",
        "count\tdup\t1",
        "count\tfrom\t1",
        "count\tto\t1",
    ]


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch, echo_port: int) -> None:
    """Neither messages nor faults."""
    _, err = through_the_proxy(monkeypatch, echo_port, "-q", "--faults", "from 1: dup")
    assert err == []
