"""What was read must be what runs: the files behind a command are part of what is approved (invariant 4)."""

import os
from pathlib import Path

import pytest

from bot.messages import ToolCall
from bot.safety import Gate, classify, digest, head, readable
from bot.safety.scripts import files_run, fingerprints, seals

GATE = Gate(classify)


def bound(command: str, cwd: Path | str) -> dict[str, str]:
    call = ToolCall("run_in_terminal", {"command": command, "risk": "high"}, "c1")
    return dict(GATE.bound(call, str(cwd)))


def digest_of(command: str, cwd: Path) -> str:
    call = ToolCall("run_in_terminal", {"command": command, "risk": "high"}, "c1")
    return digest(call, nonce="f00d", cwd=str(cwd), files=GATE.bound(call, str(cwd)))


# ── which files ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("bash deploy.sh", "deploy.sh"),
        ("sh -x deploy.sh now", "deploy.sh"),
        ("bash -o pipefail deploy.sh", "deploy.sh"),
        ("bash -- deploy.sh", "deploy.sh"),
        ("bash -e deploy.sh", "deploy.sh"),
        ("sudo bash -eu deploy.sh", "deploy.sh"),
        ("bash deploy.sh -c x", "deploy.sh"),
        ("source deploy.sh", "deploy.sh"),
        (". ./deploy.sh", "deploy.sh"),
        ("./deploy.sh", "deploy.sh"),
        ("bin/deploy", "bin/deploy"),
        ("sudo ./deploy.sh", "deploy.sh"),
        ("sudo bash deploy.sh", "deploy.sh"),
        ("sudo -u app env A=1 nice bash deploy.sh", "deploy.sh"),
        ("timeout 9 bash deploy.sh; echo done", "deploy.sh"),
        ("sh -c 'bash deploy.sh'", "deploy.sh"),
        ("for f in a.sh b.sh; do bash $f; done", "b.sh"),
        ("find . -name x -exec bash deploy.sh {} \\;", "deploy.sh"),
        ("python3 job.py", "job.py"),
        ("python3 -u -W ignore job.py data.csv", "job.py"),
        ("python3 -m jobs.nightly", "jobs/nightly.py"),
        ("python3 -m jobs", "jobs/__main__.py"),
        ("python3 job.py -e prod", "job.py"),
        ("python3 job.py -c conf.yml", "job.py"),
        ("perl -w job.pl", "job.pl"),
        ("perl -Iinclude job.pl", "job.pl"),
        ("ruby -r json job.rb", "job.rb"),
        ("node app.js -e prod", "app.js"),
        ("node --inspect app.js", "app.js"),
        ("java -jar app.jar", "app.jar"),
        (".venv/bin/python job.py", "job.py"),
        ("cd app && ./deploy.sh", "app/deploy.sh"),
        ("cd app && cd sub && bash deploy.sh", "app/sub/deploy.sh"),
        ("make install", "Makefile"),
        ("make -C sub install", "sub/Makefile"),
        ("make -f my.mk install", "my.mk"),
        ("sudo npm run build", "package.json"),
        ("docker compose up -d", "compose.yaml"),
        ("docker compose -f prod.yml up -d", "prod.yml"),
        ("psql -f x.sql", "x.sql"),
        ("psql --file=x.sql", "x.sql"),
        ("kubectl apply -f x.yaml", "x.yaml"),
        ("at -f job.sh now", "job.sh"),
        ("awk -f x.awk data", "x.awk"),
        ("ansible-playbook site.yml", "site.yml"),
        ("crontab jobs.txt", "jobs.txt"),
        ("bash < deploy.sh", "deploy.sh"),
        ("sudo bash -s < 'deploy.sh'", "deploy.sh"),
        ("mysql shop < dump.sql", "dump.sql"),
    ],
)
def test_the_file_that_says_what_a_command_does_is_bound_there_or_not(
    tmp_path: Path, command: str, name: str
) -> None:
    paths = files_run(command, classify(command, cwd=str(tmp_path)), str(tmp_path))

    assert tmp_path / name in paths


def test_a_file_piped_into_a_shell_is_bound(tmp_path: Path) -> None:
    (tmp_path / "deploy.sh").write_text("id")

    assert str(tmp_path / "deploy.sh") in bound("cat deploy.sh | bash", tmp_path)


def test_a_home_is_the_bots_own(tmp_path: Path) -> None:
    assert str(Path("~/bin/x.sh").expanduser()) in bound("~/bin/x.sh", tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "rm -f app.log",
        "rm -rf build",
        "busybox rm app.log",
        "/usr/bin/git reset --hard",
        "systemctl stop nginx",
        "bash -c 'rm -f app.log'",
        "sudo bash <<'EOF'\ntail app.log\nEOF",
        "tail -n 3 app.log > /etc/x",
        "psql -c 'DROP TABLE x'",
        "python3 job.py app.log",
        "tail -n 500 app.log | cut -d= -f2 | xargs kill",
        "cat app.log | perl -ne 'system($_)'",
    ],
)
def test_data_that_a_command_reads_or_changes_is_not_bound(tmp_path: Path, command: str) -> None:
    (tmp_path / "app.log").write_text("grows")

    assert str(tmp_path / "app.log") not in bound(command, tmp_path)


def test_only_the_shell_has_files_behind_it() -> None:
    assert GATE.bound(ToolCall("send_telegram", {"command": "./x"}, "c1"), "/") == {}


# ── what is bound ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", ["bash deploy.sh", "./deploy.sh", "python3 deploy.sh"])
def test_a5_a_changed_script_is_another_digest(tmp_path: Path, command: str) -> None:
    (tmp_path / "deploy.sh").write_text("one")
    before = digest_of(command, tmp_path)
    same = digest_of(command, tmp_path)
    (tmp_path / "deploy.sh").write_text("two")

    assert same == before
    assert digest_of(command, tmp_path) != before


def test_a5_a_script_that_came_or_went_is_another_digest(tmp_path: Path) -> None:
    before = digest_of("bash deploy.sh", tmp_path)
    (tmp_path / "deploy.sh").write_text("one")
    there = digest_of("bash deploy.sh", tmp_path)
    (tmp_path / "deploy.sh").unlink()

    assert there != before
    assert digest_of("bash deploy.sh", tmp_path) == before


def test_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    for name in ("one.sh", "two.sh"):
        (tmp_path / name).write_text(name)
    (tmp_path / "deploy.sh").symlink_to("one.sh")
    before = digest_of("bash deploy.sh", tmp_path)
    (tmp_path / "deploy.sh").unlink()
    (tmp_path / "deploy.sh").symlink_to("two.sh")

    assert digest_of("bash deploy.sh", tmp_path) != before


@pytest.mark.parametrize("special", ["/proc/kmsg", "fifo", "/dev/zero"])
def test_a_file_that_never_ends_holds_nobody_up(tmp_path: Path, special: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / special

    assert fingerprints((path,)) is None
    assert list(seals([path])) == [str(path)]
    assert head(path) == ""


def test_a_file_too_large_to_hash_is_known_by_size_and_time(tmp_path: Path) -> None:
    large = tmp_path / "large.sh"
    with large.open("wb") as file:
        file.truncate(20 * 1024 * 1024)
    before = seals([large])
    with large.open("ab") as file:
        file.write(b"rm -rf /srv")

    assert len(before[str(large)]) < 64
    assert seals([large]) != before


def test_what_is_no_file_is_bound_as_none(tmp_path: Path) -> None:
    assert seals([tmp_path, tmp_path / "missing", tmp_path / ("x" * 300)]) == {
        str(tmp_path): "no file",
        str(tmp_path / "missing"): "FileNotFoundError",
        str(tmp_path / ("x" * 300)): "OSError",
    }


def test_without_files_the_digest_is_that_of_questions_asked_before_files_were_bound() -> None:
    call = ToolCall("run_in_terminal", {"command": "ls", "risk": "high"}, "c1")

    assert digest(call, nonce="f00d", cwd="/", files={}) == digest(call, nonce="f00d", cwd="/")


# ── what is shown of them ──────────────────────────────────────────────────────────────────────────────


def test_the_first_lines_are_shown(tmp_path: Path) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text("#!/bin/sh\n" + "echo x\n" * 100)

    lines = head(script).splitlines()

    assert lines[:2] == ["#!/bin/sh", "echo x"]
    assert (len(lines), lines[-1]) == (13, "… (710 bytes)")


def test_a_short_script_is_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "deploy.sh").write_text("#!/bin/sh\nid\n")

    assert head(tmp_path / "deploy.sh") == "#!/bin/sh\nid"


def test_neither_binaries_nor_what_is_gone_are_shown(tmp_path: Path) -> None:
    (tmp_path / "deploy").write_bytes(b"\x7fELF\0\0")

    assert head(tmp_path / "deploy") == ""
    assert head(tmp_path / "missing") == ""


def test_dot_files_and_folders_are_not_shown(tmp_path: Path) -> None:
    names = [".env", "run.sh", ".ssh/id", "missing"]
    (tmp_path / ".ssh").mkdir()
    for name in names[:3]:
        (tmp_path / name).write_text("x")

    assert readable([str(tmp_path / name) for name in names]) == [str(tmp_path / "run.sh")]
