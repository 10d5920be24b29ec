"""A chain of models: when one fails, the next takes over in the same turn."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from bot import clock
from bot.errors import LLMError, LLMMalformed, LLMRejected, LLMUnavailable
from bot.llm.base import LLMClient, LLMResponse, Prompt, TextDelta
from bot.llm.cooldowns import Cooldowns, Rest

log = logging.getLogger(__name__)

DEADLINE = 300.0
"""Seconds after which no further model is begun with."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the chain.

    Attributes:
        name: `provider:model`, for errors and logs.
        credential: Names the key without being it; entries that share it rest together when it is refused.
        window: Tokens of context.
        takes_tools: Whether it may be asked when there are tools to offer.
    """

    name: str
    client: LLMClient
    credential: str = ""
    window: int = 0
    takes_tools: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """How one model of the chain stands.

    Attributes:
        name: `provider:model`.
        answered: When it answered, if it was the last of the chain that did; seconds since the epoch.
        rest: None when it would be asked.
    """

    name: str
    answered: float | None = None
    rest: Rest | None = None


class Fallback:
    """Asks each client in order until one answers.

    A client that was unavailable, or that refused key, model or credit, rests for a while before it is asked
    again (requirement F5, see `Cooldowns`); the others are asked instead. When all rest, the one that is due
    first is asked. After one found the transcript too long, only those with a larger window are asked.

    A refusal of the content ends the chain: asking around for a model that would do it is not our place.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        now: clock.Clock = clock.system,
        cooldowns: Cooldowns | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        """Set up a chain.

        Args:
            entries: In order of preference.
            cooldowns: Shared by chains that share keys.
            deadline: Seconds after the beginning at which no further client is begun with.
        """
        self._entries = tuple(entries)
        self._now = now
        self._cooldowns = cooldowns or Cooldowns(now=now)
        self._deadline = deadline
        self._last: tuple[str, float] | None = None

    def links(self) -> Sequence[Link]:
        """Return how each model stands now, in order of preference."""
        last, at = self._last or ("", 0.0)
        return [
            Link(
                entry.name,
                at if entry.name == last else None,
                self._cooldowns.resting(entry.name, entry.credential),
            )
            for entry in self._entries
        ]

    @property
    def supports_native_tools(self) -> bool:
        return self._order()[0].client.supports_native_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | LLMResponse, None]:
        started, shown, window = self._now(), "", 0
        skipped: list[Skipped] = []
        for entry in self._order():
            if reason := self._reason_to_skip(entry, prompt, started, window, skipped):
                skipped.append(Skipped(entry, reason))
                continue
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
                        self._cooldowns.succeeded(entry.name, entry.credential)
                        self._last = entry.name, self._now()
                        if shown != event.message.text:
                            event = replace(event, message=replace(event.message, text=shown))
                        yield event
                return
            except LLMError as exc:
                if isinstance(exc, LLMRejected) and exc.reason == "refused":
                    raise
                if isinstance(exc, LLMRejected) and exc.reason == "too_long":
                    window = max(window, entry.window)
                self._cooldowns.failed(entry.name, entry.credential, exc)
                skipped.append(Skipped(entry, str(exc), exc))
                log.warning("%s failed: %s", entry.name, exc)
        raise self._summary(skipped)

    def _order(self) -> list[Entry]:
        """Return the entries in the order to ask: those that rest last, soonest due first."""
        rests = {id(entry): self._cooldowns.rest(entry.name, entry.credential) for entry in self._entries}
        return sorted(self._entries, key=lambda entry: rests[id(entry)])

    def _reason_to_skip(
        self, entry: Entry, prompt: Prompt, started: float, window: int, skipped: Sequence["Skipped"]
    ) -> str:
        """Say why an entry is not asked; empty when it is."""
        if prompt.tools and not entry.takes_tools:
            return "takes no tools"
        if window and entry.window <= window:
            return f"its window of {entry.window} tokens is no larger"
        if skipped and self._now() - started > self._deadline:
            return f"not asked, {self._deadline:g} s were over"
        rest = self._cooldowns.rest(entry.name, entry.credential)
        if rest and any(other.error for other in skipped):
            return f"resting for another {rest:.0f} s"
        return ""

    def _summary(self, skipped: Sequence["Skipped"]) -> LLMError:
        """Return the one error that says why each entry was skipped."""
        errors = [one.error for one in skipped if one.error is not None]
        if len(skipped) == 1 and errors:
            return errors[0]
        text = "; ".join(f"{one.entry.name}: {one.reason}" for one in skipped)
        if any(isinstance(exc, LLMRejected) and exc.reason == "too_long" for exc in errors):
            return LLMRejected(text, reason="too_long")
        waits = [self._cooldowns.rest(one.name, one.credential) for one in self._entries]
        resting = len(errors) < len(skipped) and any(waits)
        if resting or any(isinstance(exc, LLMUnavailable) for exc in errors):
            return LLMUnavailable(text, retry_after=max(0.0, min(waits)))
        if errors and all(isinstance(exc, LLMMalformed) for exc in errors):
            return LLMMalformed(text)
        reasons = [exc.reason for exc in errors if isinstance(exc, LLMRejected)]
        return LLMRejected(text, reason=reasons[0] if reasons else "bad_request")


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that gave no answer; without an error it was not asked."""

    entry: Entry
    reason: str
    error: LLMError | None = None


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
