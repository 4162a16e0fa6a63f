"""`ackonce fleet`: what does a person see of the fleet, and what does an operator's word change?"""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.fleet.agents import Agents
from agent.fleet.facts import AgentState
from agent.store.sqlite import FILE_NAME
from tests.cli.fleet_rows import EVERYTHING, FleetRows, plain
from tests.cli.project import Project
from tests.fleet.crew import crew, locked

TWO = """
## two agents, a pump
        pump  a  b
    a    X    -  .
    b    .    .  -
"""
REFERENCE = """
## one of three fails
        pump  lamp
    a    X     .
    b    .     .
    c    .     .
"""
DISTRUSTED = """
## b fails what others see
        d1  d2  d3
    a    .   .   .
    b    X   X   X
    c    .   .   .
"""


@pytest.fixture
def fleet(project: Project, quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FleetRows]:
    """A project with a store in memory; agents and commands go by one clock."""
    home = quick_home / "home"
    monkeypatch.setenv("ACKONCE_HOME", str(home))
    monkeypatch.setenv("ACKONCE_ACTOR", "ana")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("agent.processes.socket.gethostname", lambda: "shed")
    with crew(home) as them:
        monkeypatch.setattr("agent.service.Clock", lambda: them.clock)
        yield FleetRows(Project(project.folder, home, project.capsys), them, monkeypatch)


# --- status -------------------------------------------------------------------------------------------------------

ALL_STATUSES = """\
   name   kind    status            age         marks
○  pump   device  unreachable       2 s         -
     3 of 5 cannot reach it for 56 s or longer (no reply): a, b, c; d, e can
○  door   device  unreachable_from  2 s         -
     2 of 5 cannot reach it for 56 s or longer (no reply), all in vantage x: a, b; c, d, e can
○  meter  device  unavailable       2 s         -
     it says itself: flashing (to e, 2 s ago)
◐  e      agent   pair_marked       2 s         -
     d cannot reach e for 56 s or longer (no reply); a, b, c can. It may be either end or the path between
◐  valve  device  pair_marked       2 s         -
     c cannot reach valve for 56 s or longer (no reply); a, b, d, e can. It may be either end or the path between
◐  tank   device  no_data           22 s stale  -
     nobody has looked at it for 22 s
◐  well   device  no_data           stale       -
     nobody has looked at it lately
◐  fan    device  shaky             2 s         -
     a missed 2 in a row; seen by 5 of 5
●  a      agent   healthy           2 s         -
     seen by 4 of 4; its own report is good
●  b      agent   healthy           20 s        -
     nobody looks at it; its own report is good
●  c      agent   healthy           20 s        -
     nobody looks at it; its own report is good
●  d      agent   healthy           20 s        -
     nobody looks at it; its own report is good
●  lamp   device  healthy           2 s         -
     seen by 5 of 5
"""


def test_all_statuses_on_a_terminal(fleet: FleetRows) -> None:
    """M32: a dot, the word and how many cannot connect, the worst first; colour on top, which NO_COLOR takes away."""
    fleet.draw(EVERYTHING)
    shown = fleet.on_terminal(80, "status")
    assert plain(shown) == ALL_STATUSES
    colours = {line[:6] for line in shown.splitlines() if line.startswith("\x1b")}
    assert colours == {"\x1b[31m○", "\x1b[33m◐", "\x1b[2m◐\x1b", "\x1b[32m●"}
    assert fleet.on_terminal(80, "status", NO_COLOR="1") == ALL_STATUSES


def test_a_terminal_that_lacks_the_dots(fleet: FleetRows) -> None:
    """It gets other signs; one that has no colours gets none."""
    fleet.draw(TWO)
    shown = fleet.on_terminal(80, "status", encoding="ascii", TERM="dumb")
    assert [line[:8] for line in shown.splitlines()[1::2]] == ["~  pump ", "*  a    ", "*  b    "]


def test_the_reason_stands_beside_where_there_is_room(fleet: FleetRows) -> None:
    """A wide terminal has a row per target, the reason in it; every reason begins in one column."""
    fleet.draw(EVERYTHING)
    head, *rows = plain(fleet.on_terminal(170, "status")).splitlines()
    assert len(rows) == 13
    assert head.split() == ["name", "kind", "status", "age", "marks", "reason"]
    at = head.index("reason")
    assert rows[0][at:] == "3 of 5 cannot reach it for 56 s or longer (no reply): a, b, c; d, e can"
    assert {row[at - 2 : at] for row in rows} == {"  "}


def test_status_in_a_pipe(fleet: FleetRows) -> None:
    """Tab-separated, no dot, no heading; alarms and sums go to stderr, and -q leaves the alarms."""
    fleet.draw(EVERYTHING)
    ended = fleet.type("status")
    assert ended.lines[0].split("\t") == [
        *("pump", "device", "unreachable", "2 s", "-"),
        "3 of 5 cannot reach it for 56 s or longer (no reply): a, b, c; d, e can",
    ]
    alarm, sums = ended.err.splitlines()
    assert alarm.startswith(
        "ALARM: 2 of 13 are unreachable at once, more than votes newly exclude in 60 s (15%)"
    )
    assert sums == (
        "Agents: 5, devices: 8. 1 unreachable, 1 unreachable_from, 1 unavailable, 2 pair_marked, 2 no_data, 1 shaky, "
        "5 healthy."
    )
    assert fleet.type("status", "-q").err.splitlines() == [alarm]


def test_status_as_objects(fleet: FleetRows) -> None:
    """An object per target with the same fields in all of them; `since` as the history has it."""
    agents = fleet.draw(EVERYTHING)
    fleet.note(agents["a"])
    records = fleet.type("status", "--json").records
    assert len(records) == 13
    assert len({tuple(record) for record in records}) == 1
    assert fleet.record("device:door") == {
        "schema": 1,
        "target": "device:door",
        "kind": "device",
        "status": "unreachable_from",
        "reason": "2 of 5 cannot reach it for 56 s or longer (no reply), all in vantage x: a, b; c, d, e can",
        "fails": ["a", "b"],
        "sees": ["c", "d", "e"],
        "ignored": [],
        "vantages": ["x"],
        "pair": None,
        "age_s": 1.5,
        "stale": False,
        "disabled": None,
        "reference": None,
        "since": "2026-11-29T22:00:00.000Z",
    }
    assert fleet.record("agent:e")["pair"] == ["d", "e"]


def test_since_is_of_the_present_status(fleet: FleetRows) -> None:
    """What the history says of another status is not when this one began."""
    agents = fleet.draw(TWO)
    fleet.note(agents["a"])
    assert fleet.record("device:pump")["since"] is not None
    fleet.see(agents["a"], "device:pump", 13)
    assert (fleet.record("device:pump")["status"], fleet.record("device:pump")["since"]) == ("healthy", None)


@pytest.mark.parametrize(
    ("silent_s", "age", "status"), [(13, "14 s", "pair_marked"), (14, "16 s stale", "no_data")]
)
def test_the_badge_of_old_probes(fleet: FleetRows, silent_s: float, age: str, status: str) -> None:
    """M33: what was seen more than 15 s ago is stale, and no verdict any more."""
    fleet.draw(TWO)
    fleet.pass_s(silent_s)
    assert fleet.row("pump")[2:4] == [status, age]


@pytest.mark.parametrize(
    ("silent_s", "age", "stale"), [(159, "2 min 59 s", False), (161, "3 min 01 s stale", True)]
)
def test_the_badge_of_an_old_report(fleet: FleetRows, silent_s: float, age: str, stale: bool) -> None:
    """M33: an agent's own report is stale after 180 s."""
    agents = fleet.draw(EVERYTHING)
    fleet.pass_s(silent_s)
    assert Agents(agents["c"]).heartbeat()
    assert fleet.row("c")[3] == age
    assert fleet.record("agent:c")["stale"] is stale


def test_the_exit_code_tells_only_when_asked(fleet: FleetRows) -> None:
    """With --exit-code 10 where anything is not healthy, else 0; without it always 0."""
    agents = fleet.draw(TWO)
    assert (fleet.type("status").code, fleet.type("status", "--exit-code").code) == (0, 10)
    fleet.see(agents["a"], "device:pump", 13)
    assert fleet.type("status", "--exit-code", "--json").code == 0


def test_split_and_lapse_stand_on_top(fleet: FleetRows) -> None:
    """A split fleet and a mass lapse are said before any row, and in the list of agents, too."""
    fleet.draw(
        """
## two halves
              a  b  c  d
    a killed  -  .  X  X
    b killed  .  -  X  X
    c         X  X  -  .
    d         X  X  .  -
"""
    )
    for words in (["status"], ["agents"]):
        alarms = [line for line in fleet.type(*words).err.splitlines() if line.startswith("ALARM: ")]
        assert ["split" in alarms[0], "a, b" in alarms[1]] == [True, True]
    assert [row.split("\t")[1] for row in fleet.type("agents").lines] == ["up, lapsed"] * 2 + ["up"] * 2


def test_a_device_of_the_inventory_that_nobody_looks_at(fleet: FleetRows) -> None:
    """It has a row of its own: a device that was forgotten is seen."""
    fleet.draw(TWO)
    fleet.project.put(
        "inventory.yaml", 'devices:\n  spare: {profile: demo/controller, url: "tcp://127.0.0.1:9"}\n'
    )
    assert fleet.row("spare")[1:4] == ["device", "no_data", "stale"]


def test_what_agents_write_is_never_interpreted(fleet: FleetRows) -> None:
    """Reasons and figures of agents are text, on a terminal as well."""
    fleet.draw(EVERYTHING, {"queue": "\x1b[2J\u202e"})
    fleet.type("disable", "pump", "--reason", "\x1b]0;owned\x07\nsecond")
    for words in (["status"], ["agents"], ["show", "pump"], ["explain", "pump"]):
        for text in (plain(fleet.on_terminal(80, *words)), fleet.type(*words).out):
            assert not set(text) & set("\x1b\x07\u202e")


# --- agents ---------------------------------------------------------------------------------------------------------


def test_agents(fleet: FleetRows) -> None:
    """Where each stands, when it was heard of, whether it is trusted and why not, its report, address and process."""
    fleet.draw(DISTRUSTED, {"queue": "3", "version": "0.5.0"})
    fleet.type("reference", "a")
    a, b, _ = (line.split("\t") for line in fleet.type("agents").lines)
    assert a[:-1] == ["a", "up", "site-a", "-", "-", "3 s ago", "yes"]
    assert a[-1] == (
        "a reference by ana since 2026-11-29T22:00:00Z; reports well (20 s ago), queue 3; "
        "answers at tcp://a.example:7077; leads to 3 devices; ackonce 0.5.0, boot now, "
        f"process {os.getpid()} on shed"
    )
    assert b[6] == "no"
    assert "its votes are ignored: it cannot reach 3 of 3 that others reach" in b[-1]
    record = fleet.type("agents", "--json").records[1]
    assert (record["agent"], record["trusted"], record["untrusted_why"]) == (
        *("b", False),
        "it cannot reach 3 of 3 that others reach",
    )
    assert (record["version"], record["metrics"]["queue"], record["heartbeat_age_s"]) == ("0.5.0", "3", 3.0)


def test_agents_that_are_not_well(fleet: FleetRows) -> None:
    """A lapsed one, one that says that it is unwell, one that was stopped, one that never reported."""
    fleet.draw(
        """
## sick
             pump
    a killed  .
    b sick    .
    c down    .
    d mute    .
    e         .
"""
    )
    rows = {line.split("\t")[0]: line.split("\t") for line in fleet.type("agents").lines}
    assert [rows[name][1] for name in "abcde"] == ["up, lapsed", "up", "down", "up", "up"]
    assert "reports unwell: port_missing (20 s ago)" in rows["b"][-1]
    assert "no report of its own" in rows["d"][-1]


# --- show -----------------------------------------------------------------------------------------------------------


def test_the_card_of_an_agent(fleet: FleetRows) -> None:
    """M16: who sees it and whom it sees, misses, last round trip; since when each verdict held."""
    agents = fleet.draw(TWO)
    fleet.note(agents["a"])
    fleet.pass_s(1.0)
    fleet.see(agents["a"], "device:pump", 13)
    fleet.note(agents["a"])
    assert fleet.type("show", "pump").out == (
        "pump (device): healthy, seen by 2 of 2\n"
        "  newest row: 0 s\n"
        "\n"
        "Who sees pump\n"
        "a\tpump\tsite-a\t-\tsees\t0\t0 s ago\t-\t-\n"
        "b\tpump\tsite-b\t-\tsees\t0\t2 s ago\t12 ms\t-\n"
        "\n"
        "History, newest first\n"
        "2026-11-29T22:00:01Z\thealthy\tpair_marked\t-\tseen by 2 of 2\n"
        "2026-11-29T22:00:00Z\tpair_marked\t-\ta, pump\ta cannot reach pump for 56 s or longer (no reply); b can. "
        "It may be either end or the path between\n"
    )
    shown = plain(fleet.on_terminal(80, "show", "a"))
    assert [line.split() for line in shown.splitlines()[3:]][:10] == [
        ["Who", "sees", "a"],
        ["observer", "target", "site", "vantage", "sight", "misses", "looked", "rtt", "about"],
        ["b", "a", "site-b", "-", "sees", "0", "2", "s", "ago", "12", "ms", "-"],
        [],
        ["Whom", "a", "sees"],
        ["observer", "target", "site", "vantage", "sight", "misses", "looked", "rtt", "about"],
        ["a", "b", "site-a", "-", "sees", "0", "2", "s", "ago", "12", "ms", "-"],
        ["a", "pump", "site-a", "-", "sees", "0", "0", "s", "ago", "-", "-"],
        [],
        ["History,", "newest", "first"],
    ]
    assert fleet.type("show", "pump", "-n", "1").out.count("2026-11-29T22:00") == 1


def test_pairs_without_a_vote(fleet: FleetRows) -> None:
    """An observer that is not believed, one whose look is old, one of a former life, one that could not ask."""
    fleet.draw(
        """
## nobody counts
        d1  d2  d3  pump
    a    .   .   .   o
    b    X   X   X   X
    c    .   .   .   b
    d    .   .   .   !
"""
    )
    told = {line.split("\t")[0]: line.split("\t")[4:6] + line.split("\t")[8:] for line in
            fleet.type("show", "pump").lines if line.count("\t") == 8}  # fmt: skip
    assert told == {
        "a": [
            "no voice",
            "-",
            "no reply; no vote: its last look is too old, or the target was started anew since",
        ],
        "b": ["missed", "12", "no reply; no vote: it cannot reach 3 of 3 that others reach"],
        "c": ["no voice", "-", "no reply; no vote: it has not looked again since it was started anew"],
        "d": ["no voice", "-", "port held; no vote: nothing was asked of the target"],
    }
    records = fleet.type("show", "pump", "--json").records
    assert [record["record"] for record in records] == ["verdict", *["pair"] * 4]
    assert {record["observer"]: record["counts"] for record in records[1:]} == dict.fromkeys("abcd", False)


# --- explain ----------------------------------------------------------------------------------------------------------


def test_a_pair_is_explained_without_a_culprit(fleet: FleetRows) -> None:
    """M14, M15, M17: both ends are named, nobody is accused or excluded, and which end is changed is for people."""
    fleet.draw(TWO)
    lines = fleet.type("explain", "pump").lines
    assert lines[0] == "pump (device) is pair_marked"
    text = "\n".join(lines)
    assert (
        "a cannot reach pump for 56 s or longer (no reply); b can. It may be either end or the path" in text
    )
    assert "both are named, neither is accused" in text
    assert "  counted   a: fails, 12 misses in a row (no reply)\n            b: sees it\n" in text
    assert "  heals it  one answered probe each of a." in text
    assert "  commands  usable, after the others; nobody is excluded." in text


def test_what_decides_is_explained(fleet: FleetRows) -> None:
    """Of each status its rule, whose votes count, what heals it, and whether new work is excluded."""
    fleet.draw(EVERYTHING)
    told = {name: fleet.type("explain", name, "--json").records[0] for name in
            ("pump", "door", "meter", "tank", "fan", "lamp")}  # fmt: skip
    assert {name: record["commands"].partition(".")[0] for name, record in told.items()} == {
        "pump": "excluded from new work as long as there is another way",
        "door": "excluded from new work at x; usable from everywhere else",
        "meter": "excluded from new work as long as there is another way",
        "tank": "usable, after healthy ones: silence is no verdict, nobody is excluded",
        "fan": "usable, after healthy ones; nobody is excluded",
        "lamp": "first choice for new work",
    }
    assert told["pump"]["rule"].startswith(
        "there is a quorum against it: at least 2 independent observers fail"
    )
    assert told["door"]["rule"].startswith("at x there is a quorum against it")
    assert told["pump"]["heals"].startswith("answered probes of a, b, c, until")
    assert told["pump"]["heals"].endswith("Nothing has to be switched on again")
    assert told["lamp"]["heals"] == "nothing is to be healed"
    assert told["fan"]["counted"][0] == "a: sees it, 2 misses in a row (no reply)"


def test_whose_votes_are_one_or_none(fleet: FleetRows) -> None:
    """Agents behind one uplink have one vote; an unreliable witness has none, and is told why."""
    fleet.draw(
        """
## uplinks
             d1  d2  d3
    a ~u      5   .   .
    b ~u      5   .   .
    c         X   X   X
    d         .   .   .
"""
    )
    [record] = fleet.type("explain", "d1", "--json").records
    assert record["counted"] == [
        *(f"{name}: fails, 5 misses in a row (no reply)" for name in ("a", "b")),
        *("d: sees it", "a, b share the uplink u: one vote"),
    ]
    assert record["ignored"] == ["c: it cannot reach 3 of 3 that others reach"]


def test_a_reference_that_nobody_reaches_is_explained(fleet: FleetRows) -> None:
    """It may be down, and ordinary agents' misses exclude no reference."""
    fleet.draw(
        """
## the reference is gone
        lamp  a
    a     .   -
    b     .   X
    c     .   X
"""
    )
    fleet.type("reference", "a")
    [record] = fleet.type("explain", "a", "--json").records
    assert (record["status"], record["rule"].partition(":")[0]) == (
        *("shaky", "it is a reference that nobody reaches"),
    )
    assert record["ignored"] == [
        f"{name}: ordinary observers' misses of a reference mean nothing" for name in ("b", "c")
    ]


# --- operators' words -----------------------------------------------------------------------------------------------


def test_disable_and_enable(fleet: FleetRows) -> None:
    """Who, when and why stand in every list; a word that holds is not said twice; enable takes it back."""
    fleet.draw(TWO)
    ended = fleet.type("disable", "pump", "--reason", "its pump is out")
    assert (ended.code, ended.out) == (0, "")
    assert "pump is disabled: no route is to go there" in ended.err
    assert "ackonce fleet enable pump" in ended.err
    again = fleet.type("disable", "device:pump", "--reason", "another")
    assert again.err == (
        "pump is disabled by ana since 2026-11-29T22:00:00Z: its pump is out, already. Nothing was changed.\n"
    )
    cells = fleet.row("pump")
    assert cells[4] == "disabled"
    assert cells[5].startswith(
        "disabled by ana since 2026-11-29T22:00:00Z: its pump is out; a cannot reach pump"
    )
    assert fleet.record("device:pump")["disabled"] == {
        "by": "ana",
        "reason": "its pump is out",
        "utc": "2026-11-29T22:00:00.000Z",
    }
    assert "wins over its status" in fleet.type("explain", "pump").out
    assert fleet.type("enable", "pump", "--json").records == [
        {
            "schema": 1, "target": "device:pump", "mark": "disabled", "holds": False, "changed": True, "by": "ana",
            "reason": None, "utc": "2026-11-29T22:00:00.000Z",
        }
    ]  # fmt: skip
    assert fleet.row("pump")[4] == "-"
    assert fleet.type("enable", "pump").err == "pump is not disabled. Nothing was changed.\n"


def test_health_heals_and_an_operators_word_stays(fleet: FleetRows) -> None:
    """M31: what was unreachable is healthy after one success, no command typed; `disabled` has no part in it."""
    agents = fleet.draw(TWO)
    fleet.type("disable", "pump")
    assert fleet.row("pump")[2] == "pair_marked"
    fleet.see(agents["a"], "device:pump", 13)
    assert (fleet.row("pump")[2], fleet.row("pump")[4]) == ("healthy", "disabled")


def test_a_reference_judges_alone(fleet: FleetRows) -> None:
    """M20: what was a marked pair is unreachable on the reference's word, as `explain` says; --off takes it back."""
    fleet.draw(REFERENCE)
    assert fleet.row("pump")[2] == "pair_marked"
    assert "on its word alone" in fleet.type("reference", "a", "--reason", "at the customer's").err
    assert fleet.row("pump")[2] == "unreachable"
    [record] = fleet.type("explain", "pump", "--json").records
    assert record["rule"].startswith("the reference a fails (5 misses in a row)")
    assert record["heals"].startswith("one answered probe of a, or another reference that sees it")
    assert fleet.row("a")[4] == "reference"
    assert "no reference any more" in fleet.type("reference", "a", "--off").err
    assert fleet.row("pump")[2] == "pair_marked"
    refused = fleet.type("reference", "pump")
    assert (refused.code, "only an agent can be a reference" in refused.err) == (2, True)


def test_a_reference_that_is_not_believed(fleet: FleetRows) -> None:
    """Who is made a reference while its votes are ignored judges nobody, and that is said."""
    fleet.draw(DISTRUSTED)
    assert "so it judges nobody until that ends: it cannot reach 3 of 3" in fleet.type("reference", "b").err


# --- which target -----------------------------------------------------------------------------------------------------


def test_targets_as_they_are_typed(fleet: FleetRows) -> None:
    """Without its kind where that is clear, else both are offered; nobody's target is refused, with what is near."""
    fleet.draw(TWO)
    fleet.project.put(
        "inventory.yaml", 'devices:\n  a: {profile: demo/controller, url: "tcp://127.0.0.1:9"}\n'
    )
    both = fleet.type("show", "a")
    assert (both.code, "Type device:a or agent:a" in both.err) == (2, True)
    assert fleet.type("show", "agent:a").lines[0].startswith("agent:a (agent): ")
    assert fleet.type("show", "device:a").lines[0].startswith("device:a (device): ")
    for typed, hint in (("pumb", "Did you mean 'pump'?"), ("device:pumb", "Did you mean 'device:pump'?"),
                        ("zzz", "See: ackonce fleet status")):  # fmt: skip
        for verb in ("show", "explain", "disable", "enable"):
            ended = fleet.type(verb, typed)
            assert (ended.code, hint in ended.err) == (2, True)
    assert fleet.type("status", "--json").records[0]["disabled"] is None


# --- nothing yet, and a store in trouble ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["status", "status --exit-code", "agents", "status --json"])
def test_before_any_agent(fleet: FleetRows, words: str) -> None:
    """Nothing on stdout, how to begin on stderr, exit 0."""
    ended = fleet.type(*words.split())
    assert (ended.code, ended.out) == (0, "")
    assert "[fleet]" in ended.err
    assert "ackonce serve" in ended.err


def test_nobody_watches_what_the_inventory_has(fleet: FleetRows) -> None:
    """A monitor of devices at which no agent has ever looked is not told that all is well."""
    fleet.project.put(
        "inventory.yaml", 'devices:\n  spare: {profile: demo/controller, url: "tcp://127.0.0.1:9"}\n'
    )
    assert [fleet.type("status", *words).code for words in ((), ("--exit-code",))] == [0, 10]


def test_a_device_before_any_agent(fleet: FleetRows) -> None:
    """What the inventory knows can be shown and disabled before there is an agent."""
    fleet.project.put(
        "inventory.yaml", 'devices:\n  spare: {profile: demo/controller, url: "tcp://127.0.0.1:9"}\n'
    )
    ended = fleet.type("explain", "spare")
    assert (ended.lines[0], "[fleet]" in ended.err) == ("spare (device) is no_data", True)
    assert fleet.type("disable", "spare").code == 0
    assert fleet.row("spare")[4] == "disabled"


def test_a_locked_store(fleet: FleetRows, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process does not come to an end: exit 7, why, and no word of an operator is kept or said."""
    fleet.draw(TWO)
    monkeypatch.setattr("agent.store.sqlite.BUSY_S", 0.01)
    with locked(fleet.project.home):
        for words in (["status"], ["disable", "pump"]):
            refused = fleet.type(*words, "--json")
            assert (refused.code, refused.records[0]["outcome"]) == (7, "not_sent")
            assert "database is locked" in refused.err
    assert fleet.record("device:pump")["disabled"] is None


def test_a_store_or_a_file_that_cannot_be_read(fleet: FleetRows) -> None:
    """A newer store: exit 7; a row that makes no sense: 7; a broken inventory: 3 with its line."""
    fleet.draw(TWO)
    fleet.project.put("inventory.yaml", "devices: {pump: {}}\n")
    broken = fleet.type("status")
    assert (broken.code, "inventory.yaml:1" in broken.err) == (3, True)
    fleet.project.put("inventory.yaml", 'devices:\n  pump: {profile: a/b, url: "tcp://127.0.0.1:9"}\n')
    with sqlite3.connect(fleet.project.home / FILE_NAME) as store:
        store.execute("UPDATE agent SET state = 'odd' WHERE name = 'a'")
    assert "is damaged" in fleet.type("status").err
    with sqlite3.connect(fleet.project.home / FILE_NAME) as store:
        store.execute("PRAGMA user_version = 999")
    store.close()
    newer = fleet.type("agents", "--json")
    assert (newer.code, "newer ackonce" in newer.err) == (7, True)


def test_a_stopped_agent(fleet: FleetRows) -> None:
    """It is told as one that said that it stopped, and silence is no verdict."""
    agents = fleet.draw(TWO)
    assert Agents(agents["b"]).enter(AgentState.DOWN)
    [record] = fleet.type("explain", "b", "--json").records
    assert (record["status"], record["rule"]) == ("no_data", "it said that it stopped")
