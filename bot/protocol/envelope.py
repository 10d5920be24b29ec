"""How results go back to a model that has no tool use of its own: one message for all calls of a step."""

from collections.abc import Sequence

from bot.messages import ToolCall, ToolResult
from bot.protocol.neutral import neutralise

HEADINGS = {
    "en": "Tool execution finished (step {step}/{max_steps}). Result:",
    "id": "Tool execution selesai (step {step}/{max_steps}). Hasil:",
    "pt": "Execução de ferramentas concluída (etapa {step}/{max_steps}). Resultado:",
}
EMPTY = "(empty)"


def envelope(
    results: Sequence[tuple[ToolCall, ToolResult]], *, step: int, max_steps: int, language: str, nonce: str
) -> str:
    """Render the results of one step, in the order of the calls.

    Args:
        step: The model call that asked, counted from 1.
        language: `en`, `id` or `pt`; anything else reads as English.
        nonce: The conversation's own random word; what a tool printed can't contain it.

    Returns:
        A heading, one part a call, and an end mark that carries the nonce. Bodies are neutralised.
    """
    heading = HEADINGS.get(language, HEADINGS["en"]).format(step=step, max_steps=max_steps)
    parts = [f"{heading} [{nonce}]"]
    parts += [part(call, result, nonce) for call, result in results]
    parts.append(f"[end of tool results {nonce}]")
    return "\n\n".join(parts)


def part(call: ToolCall, result: ToolResult, nonce: str) -> str:
    """Render the result of one call."""
    facts = [
        f"id={call.id}",
        f"name={neutralise(call.name)[:64]!r}",
        f"status={'error' if result.is_error else 'ok'}",
    ]
    if result.exit_code is not None:
        facts.append(f"exit_code={result.exit_code}")
    if result.truncated:
        facts.append("truncated=yes")
    body = neutralise(result.text)
    if nonce:  # replacing nothing would put a mark between every two characters
        body = body.replace(nonce, nonce[:1] + "\u2060" + nonce[1:])
    if result.is_error:
        mark = f"[ERROR:{result.code}]" if result.code else "[ERROR]"
        if not body.startswith(mark):
            body = f"{mark} {body}".rstrip()
    if not body.strip():
        body = EMPTY
    return f"[{nonce} {' '.join(facts)}]\n{body}"
