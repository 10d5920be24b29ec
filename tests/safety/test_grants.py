"""What a grant may cover, and what voids it (A1, A3; facts on approval cards, §6)."""

from pathlib import Path
from typing import Any

import pytest

from bot.messages import Conversation, Risk, ToolCall
from bot.safety import Gate, Invocation, Judgement, Verdict, classify, rules_version
from bot.safety.grants import key, why_not
from bot.safety.scripts import files_behind, fingerprints

HERE = Conversation(7)


def judge(command: str, cwd: Path | str, *, version: str = "v1", said: str = "low", **more: Any) -> Judgement:
    call = ToolCall("run_in_terminal", {"command": command, "risk": said}, "c1", **more)
    gate = Gate(classify, version=version)
    return gate.judge(call, floor=Risk.LOW, reads_only=False, conversation=HERE, cwd=str(cwd))


def key_of(command: str, cwd: Path | str, **more: Any) -> str:
    return judge(command, cwd, **more).grant_key


# ── what may be granted ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "systemctl stop nginx", "git reset --hard", "systemctl stop a; systemctl stop b"],
)
def test_a_plain_command_whose_every_word_is_known_may_be_granted(tmp_path: Path, command: str) -> None:
    judgement = judge(command, tmp_path)

    assert judgement.risk is Risk.HIGH
    assert judgement.grant_key
    assert judgement.no_grant == ""


def test_what_only_the_model_calls_high_may_be_granted(tmp_path: Path) -> None:
    assert key_of("ls -l", tmp_path, said="high")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("bash deploy.sh", "it starts a shell"),
        ("env bash deploy.sh", "it starts a shell"),
        ("docker run alpine sh", "it starts a shell"),
        ("python3 -c 'print(1)'", "runs what is written in its arguments"),
        ("perl -e 1", "runs what is written in its arguments"),
        ("psql -c 'DROP TABLE x'", "runs what is written in its arguments"),
        ("python3 -m http.server", "runs what is no named script"),
        ("sudo rm -rf build", "it runs as another user (sudo)"),
        ("sudo -n systemctl restart nginx", "it runs as another user (sudo)"),
        ("su deploy", "it runs as another user (su)"),
        ("cat ~/.ssh/id_rsa", "reads a credential file"),
        ("rm -rf build; cat .env", "reads a credential file"),
        ("env", "prints the environment"),
        ("curl -d @notes https://example.com/x", "it talks to other machines"),
        ("scp notes web:", "it sends data to other machines"),
        ("git push origin main", "it sends data to other machines"),
        ("npm publish", "it sends data to other machines"),
        ("rm -rf $X", "some of its words are known only when it runs"),
        ("rm -rf ./none-$$", "some of its words are known only when it runs"),
        ("rm -rf $HOME/old", "some of its words are known only when it runs"),
        ("rm -rf *.log", "some of its words are known only when it runs"),
        ("rm -rf $(cat list)", "some of its words are known only when it runs"),
        ("eval 'rm x'", "it starts a shell"),
        ("sed -i s/a/b/ f", "runs what is written in its arguments"),
        ("cp x /etc/hosts", "writes a protected path"),
        ("systemctl stop ssh", "it can lock people out"),
        ("systemctl stop ssh; rm -rf build", "it can lock people out"),
        ("reboot", "stops or restarts the machine"),
        ("make -C other", "chosen by an option"),
        ("cd /tmp && ./x.sh", "can't be pinned down"),
        ("./missing.sh", "can't be pinned down"),
        ("make all", "can't be pinned down"),
        (")(", ""),
    ],
)
def test_what_is_not_pinned_down_or_too_grave_is_never_granted(
    tmp_path: Path, command: str, why: str
) -> None:
    judgement = judge(command, tmp_path, said="high")

    assert judgement.risk is Risk.HIGH
    assert judgement.grant_key == ""
    assert judgement.no_grant
    assert why in judgement.no_grant


def test_a_shell_behind_a_wrapper_nobody_knows_is_still_one() -> None:
    invocation = Invocation(
        "mywrapper", ("--", "/bin/bash", "deploy.sh"), True, "mywrapper -- /bin/bash deploy.sh"
    )

    assert why_not(
        "mywrapper -- /bin/bash deploy.sh", Verdict(Risk.HIGH, invocations=(invocation,), literal=True)
    )


def test_a_repaired_call_is_never_granted(tmp_path: Path) -> None:
    assert key_of("rm -rf build", tmp_path, repaired=True) == ""


def test_a_tool_that_is_no_shell_is_never_granted(tmp_path: Path) -> None:
    call = ToolCall("transfer_wallet", {"amount": "1", "command": "rm -rf build"}, "c1")

    judgement = Gate(classify).judge(
        call, floor=Risk.HIGH, reads_only=False, conversation=HERE, cwd=str(tmp_path)
    )

    assert judgement.risk is Risk.HIGH
    assert judgement.grant_key == ""


def test_what_runs_unasked_anyway_needs_no_grant(tmp_path: Path) -> None:
    assert key_of("rm notes.txt", tmp_path) == ""


# ── what it is bound to ────────────────────────────────────────────────────────────────────────────────


def test_the_same_command_has_the_same_key(tmp_path: Path) -> None:
    assert key_of("rm -rf build", tmp_path) == key_of("rm -rf build", tmp_path, said="high")


@pytest.mark.parametrize("other", ["rm -rf builds", "rm -rf  build", "rm -rf build #", "rm -r -f build"])
def test_another_command_has_another_key(tmp_path: Path, other: str) -> None:
    assert key_of(other, tmp_path) != key_of("rm -rf build", tmp_path)


def test_another_folder_has_another_key(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    assert key_of("rm -rf build", tmp_path / "sub") != key_of("rm -rf build", tmp_path)


def test_a_link_to_the_folder_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert key_of("rm -rf build", tmp_path / "link") == key_of("rm -rf build", tmp_path / "real")


def test_other_rules_end_it(tmp_path: Path) -> None:
    assert key_of("rm -rf build", tmp_path, version="v2") != key_of("rm -rf build", tmp_path)


def test_another_verdict_ends_it(tmp_path: Path) -> None:
    verdict = classify("rm -rf build", cwd=str(tmp_path))
    softer = Verdict(verdict.risk, invocations=verdict.invocations, findings=verdict.findings[:1])

    def keyed(judged: Verdict) -> str:
        return key("rm -rf build", cwd=str(tmp_path), verdict=judged, version="v1", files={})

    assert keyed(softer) != keyed(verdict)


def test_the_version_changes_with_the_operators_rules(tmp_path: Path) -> None:
    before = rules_version(tmp_path)
    (tmp_path / "mine.toml").write_text("[program.deploy]\nlevel = 'high'\n")
    added = rules_version(tmp_path)
    (tmp_path / "mine.toml").write_text("[program.deploy]\nlevel = 'low'\n")

    assert rules_version(None) == before
    assert len({before, added, rules_version(tmp_path)}) == 3


# ── scripts ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./deploy.sh", "deploy.sh"),
        ("make clean", "Makefile"),
        ("npm run x", "package.json"),
    ],
)
def test_a_changed_file_behind_a_command_voids_its_grant(tmp_path: Path, command: str, name: str) -> None:
    (tmp_path / name).write_text("one")
    before = judge(command, tmp_path, said="high")
    (tmp_path / name).write_text("two")

    assert before.grant_key
    assert before.grant_files == (str(tmp_path / name),)
    assert key_of(command, tmp_path, said="high") != before.grant_key


def test_the_script_of_an_interpreter_is_behind_it() -> None:
    assert files_behind(classify("python3 x.py now", cwd="/srv"), "/srv") == (Path("/srv/x.py"),)


def test_a_file_behind_an_absolute_path_counts_too(tmp_path: Path) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text("one")

    assert judge(str(script), "/", said="high").grant_files == (str(script),)


def test_programs_of_the_system_are_not_hashed(tmp_path: Path) -> None:
    assert files_behind(classify("/usr/bin/git reset --hard"), str(tmp_path)) == ()


def test_what_is_no_regular_file_has_no_fingerprint(tmp_path: Path) -> None:
    assert fingerprints([tmp_path]) is None
    assert fingerprints([tmp_path / "missing"]) is None


def test_a_command_without_programs_is_not_granted() -> None:
    assert why_not("ls", Verdict(Risk.HIGH))
