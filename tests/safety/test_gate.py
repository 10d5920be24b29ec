"""May this call run: risk only rises, and an approval is bound to the call (A1, A5, P7, X9, design 4, 5)."""

from pathlib import Path
from typing import Any

import pytest

from bot.messages import Conversation, Risk, ToolCall
from bot.safety import Verdict, classify
from bot.safety.gate import Gate, Judgement, digest, file_outside
from bot.safety.verdict import Invocation

HERE = Conversation(7, 3)
GATE = Gate(classify)
LOW, MEDIUM, HIGH = Risk.LOW, Risk.MEDIUM, Risk.HIGH


def shell(command: str = "ls", **more: Any) -> ToolCall:
    return ToolCall("run_in_terminal", {"command": command, **more}, "c1")


def judge(call: ToolCall, *, gate: Gate = GATE, floor: Risk = LOW, reads_only: bool = False) -> Judgement:
    return gate.judge(call, floor=floor, reads_only=reads_only, conversation=HERE, cwd="/srv")


def saying(risk: Risk) -> Gate:
    """A gate whose classifier says the same of everything."""
    reasons = ("the classifier says so",) if risk else ()
    return Gate(lambda command, *, cwd: Verdict(risk, reasons, (Invocation("x", (), True, command),)))


# ── risk only rises ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("floor", list(Risk))
@pytest.mark.parametrize("classified", list(Risk))
@pytest.mark.parametrize("claimed", list(Risk))
def test_a1_the_highest_of_model_classifier_and_floor_counts(
    claimed: Risk, classified: Risk, floor: Risk
) -> None:
    judgement = judge(shell(risk=claimed.name.lower()), gate=saying(classified), floor=floor)

    assert judgement.risk is max(claimed, classified, floor)


@pytest.mark.parametrize("claim", [None, "", "none", "safe", "lowish", 0, True, ["low"], {"low": 1}])
def test_a1_a_missing_or_invalid_claim_is_high(claim: object) -> None:
    more: dict[str, Any] = {} if claim is None else {"risk": claim}

    judgement = judge(shell(**more), gate=saying(LOW))

    assert judgement.risk is HIGH
    assert judgement.reasons == ("the model gave no risk for it",)


@pytest.mark.parametrize("claim", ["low", " LOW ", "Low\n"])
def test_a_claim_is_read_without_regard_to_case_and_blanks(claim: str) -> None:
    assert judge(shell(risk=claim), gate=saying(LOW)).risk is LOW


def test_a_model_more_careful_than_the_classifier_is_named() -> None:
    judgement = judge(shell(risk="high"), gate=saying(MEDIUM))

    assert judgement.reasons == ("the classifier says so", "the model itself calls it high risk")


def test_the_classifier_is_given_the_folder() -> None:
    seen: list[tuple[str, str]] = []

    def classifier(command: str, *, cwd: str) -> Verdict:
        seen.append((command, cwd))
        return Verdict(LOW)

    judge(shell("ls", risk="low"), gate=Gate(classifier))

    assert seen == [("ls", "/srv")]


def test_only_the_shell_needs_a_claim() -> None:
    assert judge(ToolCall("web_search", {"query": "x"}), reads_only=True).risk is LOW


def test_the_real_classifier_lets_reading_pass_and_stops_deleting() -> None:
    assert judge(shell("ls -l", risk="low")).risk is LOW
    assert judge(shell("rm -rf /srv", risk="low")).risk is HIGH


@pytest.mark.parametrize("risk", [MEDIUM, HIGH])
def test_whatever_is_asked_has_a_reason(risk: Risk) -> None:
    judgement = judge(ToolCall("transfer", {"amount": "1"}), floor=risk)

    assert judgement.reasons == (f"transfer is {risk.name.lower()} risk by itself",)


# ── repaired calls ─────────────────────────────────────────────────────────────────────────────────────


def test_p7_a_repaired_call_that_may_act_is_asked_about() -> None:
    call = ToolCall("send_telegram", {"chat_id": 7, "text": "hi"}, repaired=True)

    judgement = judge(call)

    assert judgement.risk is HIGH
    assert "broken JSON" in judgement.reasons[-1]


def test_p7_a_repaired_call_that_only_reads_is_not() -> None:
    assert judge(ToolCall("web_search", {"query": "x"}, repaired=True), reads_only=True).risk is LOW


def test_p7_a_repaired_command_that_is_not_read_only_is_asked_about() -> None:
    call = ToolCall("run_in_terminal", {"command": "cd /tmp", "risk": "low"}, repaired=True)

    assert judge(call).risk is HIGH


# ── reading beside others ──────────────────────────────────────────────────────────────────────────────


def test_a_low_command_may_run_beside_others() -> None:
    assert judge(shell("ls", risk="low")).reads_only


@pytest.mark.parametrize("command", ["cd /tmp", "cd /tmp && ls", "pushd /tmp"])
def test_a_command_that_changes_the_folder_may_not(command: str) -> None:
    assert not judge(shell(command, risk="low")).reads_only


def test_a_command_that_somebody_calls_risky_may_not() -> None:
    assert not judge(shell("ls", risk="medium")).reads_only


def test_a_tool_that_acts_never_may() -> None:
    assert not judge(ToolCall("send_telegram", {"chat_id": 7, "text": "hi"})).reads_only


# ── what the person reads ──────────────────────────────────────────────────────────────────────────────


def test_a_command_is_shown_as_it_is() -> None:
    assert judge(shell("echo 'ä'\n  ls", risk="low")).command == "echo 'ä'\n  ls"


def test_other_arguments_are_shown_whole_as_json() -> None:
    assert judge(ToolCall("send_telegram", {"text": "hé", "chat_id": 7})).command == (
        '{\n "chat_id": 7,\n "text": "hé"\n}'
    )


# ── writing to chats ───────────────────────────────────────────────────────────────────────────────────


def test_x9_a_message_to_this_chat_is_not_asked_about() -> None:
    assert judge(ToolCall("send_telegram", {"chat_id": 7, "text": "hi"})).risk is LOW


@pytest.mark.parametrize("chat", [8, -7, "7", None])
def test_x9_a_message_to_another_chat_is(chat: object) -> None:
    judgement = judge(ToolCall("send_telegram", {"chat_id": chat, "text": "hi"}))

    assert judgement.risk is HIGH
    assert judgement.reasons == (f"sends a message to another chat, {chat!r}",)


# ── sending files ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    work, outputs, home = (tmp_path / name for name in ("work", "outputs", "home"))
    for folder in (work / "sub", work / ".git", outputs, home):
        folder.mkdir(parents=True)
    return work, outputs, home


def file_risk(folders: tuple[Path, Path, Path], path: str, cwd: Path | None = None) -> Risk:
    work, outputs, _ = folders
    gate = Gate(classify, {"send_file": file_outside(work, work / "state", outputs)})
    call = ToolCall("send_file", {"path": path})
    return gate.judge(call, floor=LOW, reads_only=False, conversation=HERE, cwd=str(cwd or work)).risk


@pytest.mark.parametrize("path", ["report.md", "sub/report.md", "./sub/../report.md", "keyboard.png"])
def test_a_file_of_the_work_is_sent_unasked(folders: tuple[Path, Path, Path], path: str) -> None:
    assert file_risk(folders, path) is LOW


def test_what_the_bot_keeps_is_asked_about_wherever_its_state_lies(folders: tuple[Path, Path, Path]) -> None:
    assert file_risk(folders, "state/kai.db") is HIGH


def test_a_kept_output_is_sent_unasked(folders: tuple[Path, Path, Path]) -> None:
    assert file_risk(folders, str(folders[1] / "c1.txt")) is LOW


@pytest.mark.parametrize("path", ["/etc/hostname", "../home/notes.txt", "sub/../../x", "bad\0name"])
def test_a_file_from_outside_is_asked_about(folders: tuple[Path, Path, Path], path: str) -> None:
    assert file_risk(folders, path) is HIGH


@pytest.mark.parametrize("path", ["~/notes.txt", "~root/notes.txt", "~no-such-user/notes.txt"])
def test_a_home_is_outside_as_the_tool_reads_it(folders: tuple[Path, Path, Path], path: str) -> None:
    assert file_risk(folders, path) is HIGH


def test_a_link_is_followed(folders: tuple[Path, Path, Path]) -> None:
    work, _, home = folders
    (home / "notes.txt").write_text("mine")
    (work / "innocent.txt").symlink_to(home / "notes.txt")

    assert file_risk(folders, "innocent.txt") is HIGH


def test_a_path_counts_from_the_current_folder(folders: tuple[Path, Path, Path]) -> None:
    assert file_risk(folders, "notes.txt", cwd=folders[2]) is HIGH


@pytest.mark.parametrize(
    "path",
    [".env", ".git/config", "sub/.netrc", "prod.env", "id_rsa", "server.pem", "TLS.KEY", "my-wallet.json",
     "passwords.txt", "api_token.txt", "client_secret.json", "Credentials.csv", "db.kdbx"],
)  # fmt: skip
def test_a_file_that_may_hold_secrets_is_asked_about(folders: tuple[Path, Path, Path], path: str) -> None:
    assert file_risk(folders, path) is HIGH


# ── the digest ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "nonce", "cwd"),
    [
        (ToolCall("another_tool", {"command": "ls", "risk": "low"}), "f00d", "/srv"),
        (shell("ls ", risk="low"), "f00d", "/srv"),
        (shell("ls", risk="high"), "f00d", "/srv"),
        (shell("ls", risk="low", timeout=None), "f00d", "/srv"),
        (shell("ls", risk="low"), "beef", "/srv"),
        (shell("ls", risk="low"), "f00d", "/srv/"),
    ],
    ids=["tool", "command", "label", "argument", "conversation", "cwd"],
)
def test_a5_the_digest_changes_with_each_part(call: ToolCall, nonce: str, cwd: str) -> None:
    before = digest(shell("ls", risk="low"), nonce="f00d", cwd="/srv")

    assert digest(call, nonce=nonce, cwd=cwd) != before


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (1, "1"), (None, "null"), ([1], [[1]])])
def test_a5_arguments_that_only_look_alike_have_other_digests(one: object, other: object) -> None:
    a, b = ToolCall("t", {"x": one}), ToolCall("t", {"x": other})

    assert digest(a, nonce="f00d", cwd="/") != digest(b, nonce="f00d", cwd="/")


def test_the_digest_outlives_the_store_and_knows_no_order() -> None:
    a, b = ToolCall("t", {"x": 1, "y": "é\ud800"}, "c1"), ToolCall("t", {"y": "é\ud800", "x": 1}, "c2")

    assert digest(a, nonce="f00d", cwd="/") == digest(b, nonce="f00d", cwd="/")


# ── money and posts (issue 7) ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["transfer_wallet", "post_twitter"])
def test_no_grant_covers_money_or_a_post(name: str) -> None:
    judgement = judge(ToolCall(name, {"command": "ls", "risk": "low"}, "c1"), floor=HIGH)

    assert judgement.risk is HIGH
    assert (judgement.grant_key, judgement.grant_files, judgement.undo) == ("", (), "")
