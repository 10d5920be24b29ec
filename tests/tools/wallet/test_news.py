"""What the model is told of transfers between turns: once for each change, and only of its own."""

from dataclasses import replace

import pytest

from bot.messages import AssistantMessage, Message, Notice, ToolResult, UserMessage
from bot.store.transfers import Transfer, TransferState
from bot.tools.wallet.news import BEGINNINGS, unread
from tests.tools.wallet.anvil import RICH
from tests.tools.wallet.town import FRIEND, HERE, paying

HASH = "0x" + "ab" * 32
SENT = Transfer(
    call_id="c1",
    conversation=HERE,
    chain="testnet",
    sender=RICH,
    recipient=FRIEND,
    symbol="ETH",
    contract="",
    decimals=18,
    units=1,
    fee_ceiling=1,
    fingerprint="f",
    planned_at=1.0,
    state=TransferState.SENT,
    raw=b"x",
    tx_hash=HASH,
    signed_at=1.0,
)
MINED = replace(SENT, state=TransferState.MINED)


def report(transfer: Transfer) -> str:
    return f"{BEGINNINGS[transfer.state]}: it\nhash {transfer.tx_hash}"


def after(text: str, *more: Message, call_id: str = "c1") -> list[Message]:
    """Return a turn whose transfer came to `text`, and what followed it."""
    return [
        UserMessage("pay"),
        AssistantMessage("", (paying(call_id=call_id),)),
        ToolResult(call_id, text),
        AssistantMessage("Done."),
        *more,
    ]


def test_an_end_after_pending_is_news() -> None:
    told = unread([MINED], after(report(SENT)), report)

    assert told == [
        Notice(f"What became of a transfer you asked for before:\n✅ paid: it\nhash {HASH}", "receipt")
    ]


@pytest.mark.parametrize("state", [state for state in TransferState if state is not TransferState.PLANNED])
def test_what_the_result_said_is_no_news(state: TransferState) -> None:
    transfer = replace(SENT, state=state)

    assert unread([transfer], after(report(transfer)), report) == []


def test_what_a_notice_said_is_no_news() -> None:
    transcript = after(report(SENT))
    transcript += unread([MINED], transcript, report)

    assert unread([MINED], transcript, report) == []


def test_an_interrupted_call_has_its_hash_told_though_nothing_ended() -> None:
    told = unread([SENT], after("interrupted, outcome unknown"), report)

    assert [HASH in notice.text for notice in told] == [True]


def test_a_failure_after_unknown_is_news() -> None:
    unknown, failed = (replace(SENT, state=state) for state in (TransferState.UNKNOWN, TransferState.FAILED))

    assert len(unread([failed], after(report(unknown)), report)) == 1


def test_a_call_asked_about_anew_is_the_same_call() -> None:
    anew = replace(MINED, call_id="c1.0a0b0c0d")

    assert len(unread([anew], after(report(SENT)), report)) == 1


def test_another_calls_transfer_is_not_told() -> None:
    assert unread([MINED], after(report(SENT), call_id="c12"), report) == []
    assert unread([replace(MINED, call_id="c12")], after(report(SENT)), report) == []


def test_after_a_fresh_start_nothing_is_told() -> None:
    assert unread([MINED], [], report) == []


def test_words_of_the_model_do_not_count_as_told() -> None:
    transcript = after(report(SENT), UserMessage("and?"), AssistantMessage(report(MINED)))

    assert len(unread([MINED], transcript, report)) == 1
