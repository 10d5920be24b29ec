"""Keyboards as the server accepts them. https://core.telegram.org/bots/api#inlinekeyboardmarkup"""

from typing import Any

from bot.demo.entities import utf16_length
from bot.demo.links import judge_link, mentioned_user
from bot.demo.params import Params
from bot.demo.refusals import Refusal, bad_request

CALLBACK_BYTES = 64
BUTTONS_PER_ROW = 8
BUTTONS = 100
COPY_LIMIT = 256

_KINDS = (
    "url",
    "callback_data",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "copy_text",
    "callback_game",
    "pay",
)
_STYLES = ("primary", "success", "danger")


def read_markup(params: Params) -> dict[str, Any] | None:
    """Read `reply_markup`; None when it is missing or an inline keyboard without buttons.

    Raises:
        Refusal: It is no keyboard, or breaks a limit.
    """
    raw = params.json("reply_markup", "reply keyboard markup")
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise bad_request("Object expected as reply markup")
    for field in ("keyboard", "inline_keyboard"):
        rows = raw.get(field, [])
        if not isinstance(rows, list):
            raise bad_request(f'Field "{field}" must be of type Array')
        if not all(isinstance(row, list) for row in rows):
            of = " of the InlineKeyboardMarkup" if field == "inline_keyboard" else ""
            raise bad_request(f'Field "{field}"{of} must be an Array of Arrays')
    if rows := [row for row in raw.get("inline_keyboard", []) if row]:
        if sum(map(len, rows)) > BUTTONS or max(map(len, rows)) > BUTTONS_PER_ROW:
            raise bad_request("reply markup is too long")
        return {"inline_keyboard": [[_read_button(button) for button in row] for row in rows]}
    if raw.get("keyboard") or raw.get("remove_keyboard") or raw.get("force_reply"):
        return raw
    return None


def read_inline_markup(params: Params) -> dict[str, Any] | None:
    """Read the `reply_markup` of an edit: only an inline keyboard can be put on a message later.

    Raises:
        Refusal: It is another keyboard, no keyboard, or breaks a limit.
    """
    markup = read_markup(params)
    if markup is not None and "inline_keyboard" not in markup:
        raise bad_request("Inline keyboard expected")
    return markup


def _read_button(button: Any) -> dict[str, Any]:
    if not isinstance(button, dict):
        raise _misshapen("InlineKeyboardButton must be an Object")
    text = button.get("text")
    if text is None:
        raise _misshapen('Can\'t find field "text"')
    if not isinstance(text, str):
        raise _misshapen('Field "text" must be of type String')
    kind = next((kind for kind in _KINDS if button.get(kind) not in (None, "")), None)
    if kind is None:
        raise _misshapen("Text buttons are unallowed in the inline keyboard")
    if not text.strip():
        raise bad_request("Inline keyboard button text must be non-empty")
    value = button[kind]
    match kind:
        case "callback_data":
            if not isinstance(value, str):
                raise _misshapen('Field "callback_data" must be of type String')
            if len(value.encode(errors="surrogatepass")) > CALLBACK_BYTES:
                raise bad_request("BUTTON_DATA_INVALID")
        case "url":
            if mentioned_user(str(value)) is None:
                _, problem = judge_link(str(value))
                if problem:
                    raise bad_request(f"Inline keyboard button URL '{value}' is invalid: {problem}")
        case "copy_text":
            copied = value.get("text", "") if isinstance(value, dict) else ""
            if not 1 <= utf16_length(copied) <= COPY_LIMIT:
                raise bad_request("BUTTON_COPY_TEXT_INVALID")
    kept = {"text": text, kind: value}
    if "style" in button:
        if button["style"] not in _STYLES:
            raise _misshapen("Invalid button style specified")
        kept["style"] = button["style"]
    if button.get("icon_custom_emoji_id"):
        kept["icon_custom_emoji_id"] = button["icon_custom_emoji_id"]
    return kept


def _misshapen(problem: str) -> Refusal:
    return bad_request(f"Can't parse inline keyboard button: {problem}")
