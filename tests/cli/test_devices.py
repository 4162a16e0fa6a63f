from tests.cli.project import LINE_PROFILE, Project

INVENTORY = """\
defaults: {timeout: 4s}
lines:
  bus: {url: "serial:/dev/ttyUSB0?baud=9600"}
groups:
  meters: {profile: test/line, tags: [north], timeout: 500ms}
devices:
  zulu:   {group: meters, line: bus, unit: 11, serial: "2210417", tags: [lab]}
  pump-7: {profile: demo/controller, url: "tcp://10.3.0.31:7000"}
  lost:   {profile: demo/controler, url: "tcp://10.3.0.32:7000"}
  broken: {profile: test/broken, url: "tcp://10.3.0.33:7000"}
  bare:   {url: "tcp://10.3.0.34:7000"}
  plain:  {profile: test/line, url: "tcp://10.3.0.35:7000"}
"""


def _with_inventory(project: Project, text: str = INVENTORY) -> Project:
    project.put("inventory.yaml", text)
    project.put("profiles/line.yaml", LINE_PROFILE)
    project.put("profiles/broken.yaml", LINE_PROFILE.replace("test/line", "test/broken") + "typo: 1\n")
    return project


def test_rows_stand_in_the_order_of_the_inventory(project: Project) -> None:
    """Each device is one line with all that the inventory, group and line say, in the file's order."""
    rows = [line.split("\t") for line in _with_inventory(project).type("devices").lines]
    assert [row[0] for row in rows] == ["zulu", "pump-7", "lost", "broken", "bare", "plain"]
    url = "serial:/dev/ttyUSB0?baud=9600"
    assert rows[0] == ["zulu", "test/line", url, "11", "2210417", "meters", "lab north", "0.5 s", "-"]


def test_a_profile_that_cannot_be_used_is_a_note(project: Project) -> None:
    """A missing, broken or unnamed profile is said beside its device and hides no other; the exit code stays 0."""
    ended = _with_inventory(project).type("devices", "--json")
    notes = {record["device"]: record["note"] for record in ended.records}
    assert (ended.code, notes["zulu"], notes["pump-7"]) == (0, None, None)
    assert "Did you mean 'demo/controller'?" in notes["lost"]
    assert "does not load" in notes["broken"]
    assert "typo" in notes["broken"]
    assert notes["bare"] == "no profile is named"


def test_json_has_every_field(project: Project) -> None:
    """--json has one object per device; unknown is null and tags are a list."""
    first, second, *_ = _with_inventory(project).type("devices", "--json").records
    assert first == {
        "device": "zulu",
        "profile": "test/line",
        "url": "serial:/dev/ttyUSB0?baud=9600",
        "unit": 11,
        "serial": "2210417",
        "group": "meters",
        "line": "bus",
        "tags": ["lab", "north"],
        "timeout_s": 0.5,
        "note": None,
    }
    assert (second["serial"], second["group"], second["tags"]) == (None, None, [])


def _timeouts(project: Project, *options: str) -> dict[str, float]:
    records = project.type("devices", "--json", *options).records
    return {record["device"]: record["timeout_s"] for record in records}


def test_the_timeout_is_the_one_that_commands_would_wait(project: Project) -> None:
    """Device or group first, then the profile's stated reply_s, then the defaults; --timeout beats them all."""
    _with_inventory(project)
    expected = {"zulu": 0.5, "pump-7": 1.0, "lost": 4.0, "broken": 4.0, "bare": 4.0, "plain": 4.0}
    assert _timeouts(project) == expected
    assert set(_timeouts(project, "--timeout", "7").values()) == {7.0}


def test_without_any_word_on_it_a_second_is_waited(project: Project) -> None:
    """Where neither inventory nor profile says one, the timeout is one second."""
    _with_inventory(project, 'devices:\n  a: {profile: test/line, url: "tcp://h:1"}\n')
    assert _timeouts(project) == {"a": 1.0}


def test_no_inventory_is_a_usage_error(project: Project) -> None:
    """Without an inventory there is nothing to list, and the sentence says how to give one."""
    ended = project.type("devices")
    assert (ended.code, ended.out) == (2, "")
    assert "-i FILE" in ended.err
