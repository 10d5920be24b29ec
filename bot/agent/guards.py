"""What goes wrong with models, seen from the transcript alone: loops, promises, endless corrections."""

import json
import re
from collections import Counter

from bot.messages import AssistantMessage, Notice, ToolCall, ToolResult, Transcript, current_turn

MAX_CORRECTIONS = 3
MAX_SAME_FAILURES = 3
SAME_BATCHES = 3

# A short reply that ends in one of these and calls nothing leaves the person waiting for ever.
PROMISE = re.compile(
    r"""(?ix)
    \b (?: i(?:'|\u2019)?ll | i\ will | let\ me | i(?:'|\u2019)?m\ (?:going\ to|about\ to) )
        \ (?: now\ | just\ | quickly\ | first\ )?
        (?: run | check | execute | look | restart | install | start | fetch | search | try
          | do\ (?: that | it ) ) \b
    | \b (?: running | executing | checking ) \ (?: it | that | this ) \ now \b
    | \b (?: gue | gua | saya | aku ) \ (?: akan\ )?
        (?: jalanin | jalankan | cek | periksa | eksekusi | coba ) \b .* \b (?: sekarang | dulu ) \b
    | \b (?: vou | irei ) \ (?: agora\ )?
        (?: executar | rodar | verificar | checar | reiniciar | instalar | buscar ) \b
    | \b (?: executando | rodando | verificando ) \ (?: isso\ )? agora \b
    """
)
# What waits for the person's word is an offer, not a promise.
CONDITION = re.compile(
    r"""(?ix) \b (?: if | once | when | after | unless | before | confirm | approve
        | let\ me\ know | want\ me\ to
        | kalau | jika | setelah | begitu | konfirmasi | se | quando | depois | assim\ que | confirme ) \b"""
)
PROMISE_LENGTH = 300


def promises_without_doing(text: str) -> bool:
    """Whether a reply without calls says that something is about to be done (requirement R7)."""
    last = text.strip().rsplit("\n", 1)[-1]
    if len(text) > PROMISE_LENGTH or last.endswith("?") or CONDITION.search(last):
        return False
    return PROMISE.search(last) is not None


def count_notices(transcript: Transcript, kind: str) -> int:
    """Count the notices of a kind in the current turn."""
    return sum(isinstance(m, Notice) and m.kind == kind for m in current_turn(transcript))


def corrections_in_a_row(transcript: Transcript) -> int:
    """Count format corrections since the last well-formed reply (requirement P10)."""
    count = 0
    for message in reversed(current_turn(transcript)):
        match message:
            case Notice(kind="correction"):
                count += 1
            case AssistantMessage(follow_up=None):
                break
    return count


def same_failures(transcript: Transcript) -> tuple[int, ToolCall | None]:
    """Return how often the most repeated call of this turn failed, and that call (requirement L6)."""
    calls: dict[str, ToolCall] = {}
    failed: Counter[str] = Counter()
    for message in current_turn(transcript):
        match message:
            case AssistantMessage(tool_calls=asked):
                calls |= {call.id: call for call in asked}
            case ToolResult(call_id=call_id, is_error=True, code=code) if (
                call_id in calls and code != "Duplicate"
            ):
                failed[signature(calls[call_id])] += 1
    if not failed:
        return 0, None
    worst, times = failed.most_common(1)[0]
    return times, next(call for call in calls.values() if signature(call) == worst)


def repeats_itself(transcript: Transcript) -> bool:
    """Whether the last three replies of this turn asked for exactly the same calls (requirement L6)."""
    batches = [
        [signature(call) for call in message.tool_calls]
        for message in current_turn(transcript)
        if isinstance(message, AssistantMessage)
    ][-SAME_BATCHES:]
    return len(batches) == SAME_BATCHES and bool(batches[0]) and all(b == batches[0] for b in batches)


def signature(call: ToolCall) -> str:
    """Return the same text for calls that would do the same; a shell call's labels don't count."""
    arguments = {k: v for k, v in call.arguments.items() if k not in ("risk", "explanation")}
    return json.dumps([call.name, arguments], sort_keys=True, default=str)
