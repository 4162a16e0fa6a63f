"""What does `ackonce.toml` say of the fleet, and where is it wrong?"""

import re
import socket
from pathlib import Path

import pytest

from agent.fleet.fleet_settings import FleetSettings, fleet_settings, notify_urls
from agent.settings import Settings, resolve, trace
from devices.problems import FileProblems

FULL = """\
[fleet]
site = "porto"
vantage = "pt"
uplink = "isp-a"
listen = "tcp://10.0.0.1:7077"
advertise = "tcp://gw1.example:7078"
probe = "30s"
"""


def said(folder: Path, text: str) -> Settings:
    """The settings of a project file."""
    (folder / "ackonce.toml").write_text(text)
    return resolve(project=folder, environ={"XDG_CONFIG_HOME": str(folder / "user")})


def place(folder: Path, text: str) -> FleetSettings:
    """What a project file says of the fleet."""
    found = fleet_settings(said(folder, text))
    assert found is not None
    return found


def understood(folder: Path, text: str) -> None:
    """Read every table of a project file."""
    settings = said(folder, text)
    fleet_settings(settings)
    notify_urls(settings)


def test_no_table(tmp_path: Path) -> None:
    """Without a table there is no fleet, and nobody to notify."""
    settings = said(tmp_path, 'agent = "gw1"')
    assert (fleet_settings(settings), notify_urls(settings)) == (None, ())


def test_a_full_table(tmp_path: Path) -> None:
    """Every key is understood."""
    found = place(tmp_path, FULL)
    assert (found.site, found.vantage, found.uplink, found.probe_s) == ("porto", "pt", "isp-a", 30.0)
    assert found.listen is not None
    assert (found.listen.host, found.listen.port) == ("10.0.0.1", 7077)
    assert found.advertise == "tcp://gw1.example:7078"


def test_defaults(tmp_path: Path) -> None:
    """An empty table is a fleet: no site, nobody listens; a site is the vantage too unless that is said."""
    assert place(tmp_path, "[fleet]\n") == FleetSettings()
    assert place(tmp_path, '[fleet]\nsite = "porto"').vantage == "porto"
    assert place(tmp_path, "[fleet]\nprobe = 7").probe_s == 7.0


@pytest.mark.parametrize(
    ("listen", "dialled"),
    [
        ("tcp://10.0.0.1:7077", "tcp://10.0.0.1:7077"),
        ("tcp://0.0.0.0:7077", f"tcp://{socket.gethostname()}:7077"),
        ("tcp://[::]:7077", f"tcp://{socket.gethostname()}:7077"),
    ],
)
def test_where_others_find_it(tmp_path: Path, listen: str, dialled: str) -> None:
    """Without `advertise` it is where it listens; where that is everywhere, the machine's name."""
    assert place(tmp_path, f'[fleet]\nlisten = "{listen}"').advertise == dialled


def test_two_files(tmp_path: Path) -> None:
    """Of two files the project's word on each key wins; the user's own stays where the project says nothing."""
    user = tmp_path / "user" / "ackonce" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[fleet]\nsite = "home"\nuplink = "dsl"\n[notify]\nurls = ["json://a"]')
    found = place(tmp_path, '[fleet]\nsite = "porto"')
    assert (found.site, found.uplink) == ("porto", "dsl")
    assert notify_urls(said(tmp_path, "")) == ("json://a",)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[fleet]\nsiet = "x"', 2, "unknown key 'siet' in [fleet]. Did you mean 'site'?"),
        ("[fleet]\nsite = 5", 2, "site: must be text in quotes"),
        ('[fleet]\nsite = ""', 2, "site: must be text in quotes"),
        ('[fleet]\nsite = "a\\nb"', 2, "site: must be text in quotes, printable"),
        ('[fleet]\n\nprobe = "soon"', 3, "probe: 'soon' is not a duration"),
        ("[fleet]\nprobe = true", 2, "probe: '' is not a duration"),
        ("[fleet]\nprobe = 0.1", 2, "probe: '0.1' must be at least 0.2 s"),
        ('[fleet]\nlisten = "0.0.0.0:7077"', 2, "listen: '0.0.0.0:7077' has no scheme; did you mean tcp://"),
        ('[fleet]\nlisten = "serial:/dev/ttyS0"', 2, "listen: 'serial:/dev/ttyS0' must be tcp://HOST:PORT"),
        ('[fleet]\nadvertise = "tcp://gw1:1"', 2, "advertise: nothing listens there: write listen"),
        ("fleet = 5", 1, "fleet: must be a table, [fleet]"),
        ("[[fleet]]", 1, "fleet: must be a table, [fleet]"),
        ("[fleat]", 1, "unknown key 'fleat'. Did you mean 'fleet'?"),
        ('"fleet.site" = "x"', 1, "unknown key '\"fleet.site\"'"),
        ('[notify]\nurl = "x"', 2, "unknown key 'url' in [notify]. Did you mean 'urls'?"),
        ('[notify]\nurls = "x"', 2, "urls: must be a list of texts in quotes"),
        ("[notify]\nurls = [5]", 2, "urls: must be a list of texts in quotes"),
        ('agnet = "x"\n[fleet]\nsite = "a"', 1, "unknown key 'agnet'. Did you mean 'agent'?"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, text: str, line: int, message: str) -> None:
    """Whatever is wrong is told with the file, the line, and what may have been meant."""
    where = f"{tmp_path / 'ackonce.toml'}:{line}: {message}"
    with pytest.raises(FileProblems, match=re.escape(where)):
        understood(tmp_path, text)


def test_everything_wrong_at_once(tmp_path: Path) -> None:
    """One look mends the whole table."""
    with pytest.raises(FileProblems) as caught:
        fleet_settings(said(tmp_path, '[fleet]\nsite = 5\nprobe = "soon"\nlisten = "x"'))
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4]


def test_shown_settings(tmp_path: Path) -> None:
    """`config show` tells each key with its line, and keeps the addresses of notices, which hold passwords."""
    (tmp_path / "ackonce.toml").write_text(
        '[fleet]\nsite = "porto"\n[notify]\nurls = ["mailto://u:secret@x"]\n'
    )
    shown = {each.name: each for each in trace(project=tmp_path, environ={"HOME": str(tmp_path)})}
    assert (shown["fleet.site"].value, shown["fleet.site"].where) == (
        "porto",
        f"{tmp_path / 'ackonce.toml'}:2",
    )
    assert shown["notify.urls"].where == f"{tmp_path / 'ackonce.toml'}:4"
    assert "secret" not in str(shown)
    assert "fleet" not in shown
