"""Whole outputs: the buttons under an answer that fetch what the model saw only a part of."""

from collections.abc import Mapping, Sequence

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.messages import AssistantMessage, ToolResult, Transcript
from bot.telegram.render import visible

MAX_BUTTONS = 3
MAX_LABEL = 40


def keyboard(outputs: object) -> InlineKeyboardMarkup | None:
    """Return buttons for the outputs of an answer's payload, `[{"call_id": …, "label": …}]`."""
    rows = [
        [
            InlineKeyboardButton(
                f"📎 {visible(str(output['label']))[:MAX_LABEL]}", callback_data=f"o:{output['call_id']}"
            )
        ]
        for output in (outputs if isinstance(outputs, Sequence) else [])[-MAX_BUTTONS:]
        if isinstance(output, Mapping)
    ]
    return InlineKeyboardMarkup(rows) if rows else None


def read_press(data: str | None) -> str | None:
    """Return the call whose output a button fetches; None when it is no such button."""
    kind, _, call_id = (data or "").partition(":")
    return call_id if kind == "o" and call_id else None


def file_of(transcript: Transcript, call_id: str) -> tuple[str, str] | None:
    """Return the path of a call's whole output and the tool's name; None when it is not kept."""
    name = ""
    for message in transcript:
        match message:
            case AssistantMessage(tool_calls=calls):
                name = next((call.name for call in calls if call.id == call_id), name)
            case ToolResult(call_id=answered, file=file) if answered == call_id and file:
                return file, name
    return None
