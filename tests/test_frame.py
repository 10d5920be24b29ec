"""What stands around the code: settings named the same everywhere, lock, unit, soul, make."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from bot.config import SETTINGS, load_settings
from bot.tools.post_twitter import x_api_url
from bot.tools.settings import tool_setting_names
from tests import lacking

ROOT = Path(__file__).parent.parent
PATTERNS = re.compile(r"[A-Z0-9]+_(API_KEY|BASE_URL)|[A-Z_]+_RPC_URLS")
"""Settings that each provider or chain has."""
NAMED = {*SETTINGS, *(name for name in tool_setting_names() if not PATTERNS.fullmatch(name))}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def lock_files() -> list[str]:
    return sorted(
        path.name for path in ROOT.iterdir() if path.suffix == ".lock" or path.name.endswith("-lock.json")
    )


def test_the_example_names_exactly_the_settings() -> None:
    names = re.findall(r"^#?([A-Z_]+)=", read(".env.example"), re.MULTILINE)

    assert len(names) == len(set(names))
    assert {name for name in names if not PATTERNS.fullmatch(name)} == NAMED


def test_the_examples_values_hold_no_comment() -> None:
    # systemd reads such a file too, and takes what follows the value as part of it.
    assert re.findall(r"^#?[A-Z_]+=.*#", read(".env.example"), re.MULTILINE) == []


def test_the_readmes_table_names_exactly_the_settings() -> None:
    names = re.findall(r"^\| `([A-Z_]+)` \|", read("README.md"), re.MULTILINE)

    assert len(names) == len(set(names))
    assert set(names) == NAMED


def test_the_readme_and_the_example_name_the_same_defaults() -> None:
    example = dict(re.findall(r"^#([A-Z_]+)=(.+)$", read(".env.example"), re.MULTILINE))
    readme = dict(re.findall(r"^\| `([A-Z_]+)` \| `([^`]+)` \|", read("README.md"), re.MULTILINE))

    assert readme == example


def test_the_defaults_named_are_those_the_code_has() -> None:
    least = {"TELEGRAM_BOT_TOKEN": "123456789:" + "A" * 35, "ADMIN_IDS": "42", "LLM_MODEL": "openai:gpt-5"}
    example = dict(re.findall(r"^#([A-Z_]+)=(.+)$", read(".env.example"), re.MULTILINE))

    assert len(example) > 10
    assert load_settings(least | example) == load_settings(least)
    assert x_api_url(example) == x_api_url({})


@pytest.mark.parametrize("name", lock_files())
def test_a_lock_names_no_host(name: str) -> None:
    assert re.findall(r"https?://\S*|^-.*", read(name), re.MULTILINE) == []


def test_there_is_a_lock() -> None:
    assert "requirements.lock" in lock_files()


def test_every_locked_package_has_a_hash() -> None:
    entries = re.split(r"\n(?=[a-z])", read("requirements.lock"))

    assert [entry.split()[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry] == []


def test_everything_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        asked += extra
    names = {re.split(r"[\[<>=;~! ]", requirement)[0].lower().replace("_", "-") for requirement in asked}

    locked = set(
        re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==", "\n".join(map(read, lock_files())), re.MULTILINE)
    )

    assert names - {"kai-bot"} - locked == set()


def test_the_soul_at_the_top_is_the_one_that_ships() -> None:
    assert (ROOT / "SOUL.md").resolve() == (ROOT / "bot" / "SOUL.md").resolve()


def test_the_soul_lists_no_tool() -> None:
    # The list is generated; a second copy would grow old.
    assert re.findall(r"run_in_terminal|web_search|send_\w+|<tool", read("SOUL.md")) == []


def test_systemd_finds_nothing_to_say_about_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        lacking.skip("systemd judges its unit: apt install systemd")
    # Only the program must be one that exists here.
    unit = tmp_path / "kai-bot.service"
    unit.write_text(re.sub(r"(?m)^ExecStart=.*", "ExecStart=/bin/true", read("systemd/kai-bot.service")))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_comes_back_is_watched_and_leaves_sudo_alone() -> None:
    lines = re.findall(r"^(\w+)=(.*)$", read("systemd/kai-bot.service"), re.MULTILINE)
    unit = dict(lines)

    assert unit["Type"] == "notify"
    assert unit["WatchdogSec"] == "30"
    assert (unit["Restart"], unit["RestartSec"]) == ("always", "1")
    assert int(unit["StartLimitBurst"]) < int(unit["StartLimitIntervalSec"])
    assert (unit["StateDirectory"], unit["StateDirectoryMode"], unit["UMask"]) == ("kai-bot", "0700", "0077")
    assert ("LoadCredential", "telegram_bot_token") in lines
    assert (unit["KillMode"], unit["Delegate"], unit["OOMPolicy"]) == ("mixed", "yes", "continue")
    breaks_sudo = {
        "NoNewPrivileges",
        "SystemCallFilter",
        "RestrictNamespaces",
        "PrivateDevices",
        "DynamicUser",
    }
    assert breaks_sudo & unit.keys() == set()


def make(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    # What an outer make hands down would change how the inner one speaks.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "test", f"PYTHON={python}"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "is not installed; install Python 3.11 or later"),
        ('case "$*" in *version_info*) exit 1;; -V) echo Python 3.9.2;; esac', "is Python 3.9.2"),
        ('case "$*" in *"import venv"*) exit 1;; esac', "has no venv module"),
        ('case "$*" in *ensurepip*|*pip*) exit 1;; esac', "has neither pip nor ensurepip"),
    ],
)
def test_make_says_what_the_machine_lacks(tmp_path: Path, script: str | None, said: str) -> None:
    python = tmp_path / "some-python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)

    done = make(tmp_path, str(python))

    assert done.returncode != 0
    assert said in done.stderr
    assert not (tmp_path / ".venv").exists()
