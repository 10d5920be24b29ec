"""What the model has not read yet of transfers it asked for: their ends come when nobody is thinking."""

from collections.abc import Callable, Iterable

from bot.messages import Notice, ToolResult, Transcript
from bot.store.transfers import Transfer, TransferState

BEGINNINGS = {
    TransferState.SIGNED: "⏳ pending",
    TransferState.SENT: "⏳ pending",
    TransferState.UNKNOWN: "❔ outcome unknown",
    TransferState.MINED: "✅ paid",
    TransferState.FAILED: "❌ not paid",
}
"""How a report begins, by state; by these words it is found again."""


def unread(
    transfers: Iterable[Transfer], transcript: Transcript, report: Callable[[Transfer], str]
) -> list[Notice]:
    """Return a notice for each transfer that stands otherwise than the transcript last said.

    The transcript alone says what was read, so nothing has to be kept of it, and calling this again is
    harmless. A transfer whose call is not in the transcript is of another conversation's past: not told.
    """
    return [
        Notice(f"What became of a transfer you asked for before:\n{report(transfer)}", "receipt")
        for transfer in transfers
        if transfer.state in BEGINNINGS and _is_news(transfer, transcript)
    ]


def _is_news(transfer: Transfer, transcript: Transcript) -> bool:
    for message in reversed(transcript):
        match message:
            case Notice(text, "receipt") if transfer.tx_hash in text:
                return BEGINNINGS[transfer.state] not in text
            # Asked about anew, a call is paid under its own id and a suffix.
            case ToolResult(call_id, text) if f"{transfer.call_id}.".startswith(f"{call_id}."):
                return transfer.tx_hash not in text or BEGINNINGS[transfer.state] not in text
    return False
