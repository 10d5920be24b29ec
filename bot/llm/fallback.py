"""A chain of models: when one fails, the next takes over in the same turn."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from bot import clock
from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta

log = logging.getLogger(__name__)

COOLDOWN = 30.0
MAX_COOLDOWN = 600.0
REJECTED_COOLDOWN = 300.0


@dataclass(slots=True)
class _Entry:
    name: str
    client: LLMClient
    failures: int = 0
    until: float = 0.0


class Fallback:
    """Asks each client in order until one answers.

    A client that was unavailable, or that refused key, model or credit, rests for a while before it is asked
    again (requirement F5); the others are asked instead. When all rest, the one that is due first is asked.

    A refusal of the content ends the chain: asking around for a model that would do it is not our place.
    """

    def __init__(self, entries: Sequence[tuple[str, LLMClient]], *, now: clock.Clock = clock.system) -> None:
        """Set up a chain.

        Args:
            entries: Name (`provider:model`, for errors and logs) and client, in order of preference.
        """
        self._entries = [_Entry(name, client) for name, client in entries]
        self._now = now

    @property
    def supports_native_tools(self) -> bool:
        return self._order()[0][0].client.supports_native_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        ready, resting = self._order()
        failures: list[tuple[str, LLMError]] = []
        shown = ""
        for entry in ready:
            seam = Seam(shown)
            try:
                async with aclosing(entry.client.stream(prompt)) as events:  # type: ignore[type-var]
                    async for event in events:
                        if isinstance(event, TextDelta):
                            if text := seam.feed(event.text):
                                shown += text
                                yield TextDelta(text)
                            continue
                        if text := seam.finish():
                            shown += text
                            yield TextDelta(text)
                        entry.failures, entry.until = 0, 0.0
                        if shown != event.message.text:
                            event = replace(event, message=replace(event.message, text=shown))
                        yield event
                return
            except LLMError as exc:
                if isinstance(exc, LLMRejected) and exc.reason == "refused":
                    raise
                self._rest(entry, exc)
                failures.append((entry.name, exc))
                log.warning("%s failed: %s", entry.name, exc)
        raise self._summary(failures, resting)

    def _order(self) -> tuple[list[_Entry], list[_Entry]]:
        """Return the entries to ask, in order, and those that rest."""
        now = self._now()
        ready = [entry for entry in self._entries if entry.until <= now]
        resting = [entry for entry in self._entries if entry.until > now]
        if not ready:
            first = min(resting, key=lambda entry: entry.until)
            ready, resting = [first], [entry for entry in resting if entry is not first]
        return ready, resting

    def _rest(self, entry: _Entry, exc: LLMError) -> None:
        match exc:
            case LLMUnavailable(retry_after=asked):
                entry.failures += 1
                pause = min(COOLDOWN * 2 ** (entry.failures - 1), MAX_COOLDOWN)
                entry.until = self._now() + max(asked or 0.0, pause)
            case LLMRejected(reason="auth" | "quota" | "model"):
                entry.failures += 1
                entry.until = self._now() + REJECTED_COOLDOWN

    def _summary(self, failures: Sequence[tuple[str, LLMError]], resting: Sequence[_Entry]) -> LLMError:
        """Return the one error that says why each entry was skipped."""
        if len(failures) == 1 and not resting:
            return failures[0][1]
        now = self._now()
        text = "; ".join(
            [
                *(f"{name}: {exc}" for name, exc in failures),
                *(f"{entry.name}: resting for another {entry.until - now:.0f} s" for entry in resting),
            ]
        )
        errors = [exc for _, exc in failures]
        if any(isinstance(exc, LLMRejected) and exc.reason == "too_long" for exc in errors):
            return LLMRejected(text, reason="too_long")
        if resting or any(isinstance(exc, LLMUnavailable) for exc in errors):
            return LLMUnavailable(
                text, retry_after=max(0.0, min(entry.until for entry in self._entries) - now)
            )
        if all(isinstance(exc, LLMMalformed) for exc in errors):
            return LLMMalformed(text)
        return LLMRejected(text, reason=next(exc.reason for exc in errors if isinstance(exc, LLMRejected)))


class Seam:
    """Joins a reply to the piece of another that was shown already, so that nothing is shown twice (F9).

    A reply that begins with what was shown goes on from there; any other follows after a blank line.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._held = ""
        self._open = not shown

    def feed(self, text: str) -> str:
        """Take a piece of the new reply; return what may be shown now."""
        if self._open:
            return text
        self._held += text
        if self._shown.startswith(self._held) and len(self._held) < len(self._shown):
            return ""
        return self.finish()

    def finish(self) -> str:
        """Return what is still held back; the reply is whole, or its beginning is known."""
        if self._open:
            return ""
        self._open = True
        if self._shown.startswith(self._held):
            return ""
        if self._held.startswith(self._shown):
            return self._held[len(self._shown) :]
        return f"\n\n{self._held}"
