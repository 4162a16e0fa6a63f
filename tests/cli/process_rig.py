"""The real command as real processes: simulated devices, senders, terminals. Every wait is for an event.

Every process that ends here is checked for what no run may ever do: print a traceback, or exit with 70.
"""

import codecs
import json
import os
import pty
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from agent.cli.exit_codes import Exit
from tests.cli.project import Ended

PATIENCE_S = 40.0
"""A process that needs longer hangs."""
LIFE_S = "900"
"""A device whose test was itself killed goes away after this."""
LSQ1 = "demo/controller"
QUESTIONS = ("[y/N] ", "to do it: ")
"""How a question of ours ends."""
COMMAND = str(Path(sys.executable).with_name("ackonce"))


class Stream:
    """What a process prints on one stream, line by line, collected by a thread.

    `on_line` hears of each line at once, `on_question` of a question that waits for its answer.
    """

    def __init__(
        self,
        pipe: IO[str],
        on_line: Callable[[str], None] | None = None,
        on_question: Callable[[], object] | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.on_line = on_line
        self.on_question = on_question
        self._fresh: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._collect, args=(pipe,), daemon=True)
        self._thread.start()

    def _collect(self, pipe: IO[str]) -> None:
        with suppress(OSError, ValueError):  # the other end of a terminal has gone
            for line in self._lines_of(pipe.fileno()):
                self.lines.append(line)
                if self.on_line is not None:
                    self.on_line(line)
                self._fresh.put(line)
        self._fresh.put(None)

    def _lines_of(self, descriptor: int) -> Iterator[str]:
        text, decoder = "", codecs.getincrementaldecoder("utf-8")("replace")
        while data := os.read(descriptor, 65536):
            *lines, text = (text + decoder.decode(data)).split("\n")
            yield from (line + "\n" for line in lines)
            if self.on_question is not None and text.endswith(QUESTIONS):
                self.on_question()
        if text:
            yield text

    def wait_for(self, part: str, count: int = 1) -> str:
        """The next line with `part` in it, the `count`-th one from here on."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            line = self._fresh.get(timeout=max(0.0, deadline_s - time.monotonic()))
            assert line is not None, f"ended without {part!r}: {''.join(self.lines)}"
            count -= part in line
            if count == 0:
                return line

    def text(self) -> str:
        """Everything, after the process has ended."""
        self._thread.join(PATIENCE_S)
        return "".join(self.lines)


class Running:
    """One running process with its output."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        on_error_line: Callable[[str], None] | None = None,
        on_question: Callable[[], object] | None = None,
        **how: Any,
    ) -> None:
        """Start it. `on_error_line` hears of each line of stderr, `on_question` of a question; `how` goes to Popen."""
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        self.process = subprocess.Popen(words, text=True, **how)
        self.out = Stream(self.process.stdout) if self.process.stdout is not None else None
        self.err = None
        if self.process.stderr is not None:
            self.err = Stream(self.process.stderr, on_error_line, on_question)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> Ended:
        """Wait for the end; what a killed process printed counts too."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        out = self.out.text() if self.out is not None else ""
        err = self.err.text() if self.err is not None else ""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        assert "Traceback" not in out + err, out + err
        assert code != Exit.INTERNAL, err
        return Ended(code, out, err)

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.end()


class DeviceProcess:
    """`ackonce simulate device`, with a ledger and a state that outlive a kill; found again at the same `url`."""

    def __init__(
        self, folder: Path, faults: str = "", *options: str, profile: str = LSQ1, port: Path | None = None
    ) -> None:
        """Switch it on.

        Args:
            folder: where ledger and state are.
            faults: a fault plan.
            options: further options of the command.
            profile: which machine it is.
            port: it is a serial port of this name; None: on TCP.
        """
        self.ledger = folder / "ledger.jsonl"
        self.url = "tcp://127.0.0.1:0"
        self._port = port
        self._words = ["--json", "--profile", profile, "--faults", faults, "--for", LIFE_S, *options]
        self._words += ["--ledger", str(self.ledger), "--state", str(folder / "state.json")]
        self.start()

    def start(self) -> None:
        """Switch it on and wait until it listens."""
        where = ["--tcp", self.url.removeprefix("tcp://")]
        if self._port is not None:
            where = ["--pty", "--link", str(self._port)]
        self.running = Running([COMMAND, "simulate", "device", *where, *self._words])
        self._await_listening()

    def _await_listening(self) -> None:
        assert self.running.out is not None
        self.url = json.loads(self.running.out.wait_for("listening"))["listening"]

    @property
    def executed(self) -> Counter[str]:
        """How often each command took effect, as the ledger file has it."""
        return Counter(json.loads(line)["text"] for line in self.ledger.read_text().splitlines())

    def wait_for(self, part: str, count: int = 1) -> str:
        """The next line of its stderr with `part`: `fault:`, `command:` or `boot:`."""
        assert self.running.err is not None
        return self.running.err.wait_for(part, count)

    def reboot(self) -> None:
        """Switch it off and on, and wait until it has booted."""
        self.running.signal(signal.SIGHUP)
        self.wait_for("boot:")

    def pull(self) -> None:
        """Pull the plug of its port, and wait until the port is gone."""
        assert self._port is not None
        port = os.open(self._port, os.O_RDWR | os.O_NOCTTY)
        gone = select.poll()
        gone.register(port, 0)
        self.running.signal(signal.SIGUSR1)
        assert gone.poll(PATIENCE_S * 1000)
        os.close(port)

    def plug_in(self) -> None:
        """Put the plug back, and wait until the port is there."""
        self.running.signal(signal.SIGUSR1)
        self._await_listening()

    def die(self) -> None:
        """Kill the process itself: only ledger and state remain."""
        self.running.stop()

    def counts(self) -> dict[str, Any]:
        """Stop it; its own counts."""
        self.running.signal(signal.SIGTERM)
        summary: dict[str, Any] = json.loads(self.running.end().lines[-1])
        return summary

    def close(self) -> None:
        """Switch it off."""
        self.running.stop()


@dataclass(slots=True)
class Shell:
    """A folder to run the command in, with a store of its own."""

    folder: Path
    home: Path
    environ: dict[str, str]
    started: list[Running] = field(default_factory=list)

    def start(self, *words: str, environ: Mapping[str, str] | None = None, **how: Any) -> Running:
        """Start one command line in the folder."""
        running = Running([COMMAND, *words], cwd=self.folder, env=self.environ | dict(environ or {}), **how)
        self.started.append(running)
        return running

    def run(self, *words: str, **how: Any) -> Ended:
        """Run one command line to its end."""
        return self.start(*words, **how).end()

    def on_terminal(
        self, *words: str, answer: str | None = None, early: str = "", **how: Any
    ) -> tuple[Running, int]:
        """Start one command line with a terminal as stdin. Returns the terminal too.

        `answer` is typed when a question is asked; `early` is typed before anything is.
        """
        ours, theirs = pty.openpty()
        os.write(ours, early.encode())
        if answer is not None:
            how["on_question"] = partial(os.write, ours, answer.encode())
        running = self.start(*words, stdin=theirs, **how)
        os.close(theirs)
        return running, ours

    def close(self) -> None:
        """End everything that still runs."""
        for running in self.started:
            running.stop()


@dataclass(slots=True, kw_only=True)
class ProcessRig(Shell):
    """A project with one LSQ1 device d1."""

    device: DeviceProcess

    def set_up(self, *, timeout: str = "0.3s") -> None:
        """Write the inventory."""
        entry = f'{{profile: {LSQ1}, url: "{self.device.url}", timeout: {timeout}}}'
        (self.folder / "inventory.yaml").write_text(f"devices:\n  d1: {entry}\n")

    def close(self) -> None:
        """End everything that still runs."""
        Shell.close(self)
        self.device.close()


def make_shell(folder: Path, home: Path) -> Shell:
    """A shell in `folder`, with its store in `home`; apart from whatever this machine's user has configured."""
    folder.mkdir(parents=True, exist_ok=True)
    return Shell(folder, home / "home", _environ(folder, home))


def make_rig(folder: Path, home: Path, faults: str = "", *, tier: int = 1) -> ProcessRig:
    """As `make_shell`, with a device."""
    folder.mkdir(parents=True, exist_ok=True)
    device = DeviceProcess(folder, faults, "--tier", str(tier))
    return ProcessRig(folder, home / "home", _environ(folder, home), device=device)


def _environ(folder: Path, home: Path) -> dict[str, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ACKONCE_")}
    environ |= {"ACKONCE_HOME": str(home / "home"), "XDG_CONFIG_HOME": str(folder / "config")}
    return environ | {"PYTHONWARNINGS": "error"}
