"""Which models are left alone for a while, by provider, model and key (requirement F5)."""

from dataclasses import dataclass

from bot import clock
from bot.errors import LLMError, LLMRejected, LLMUnavailable

COOLDOWN = 30.0
MAX_COOLDOWN = 600.0
REJECTED_COOLDOWN = 300.0


@dataclass(frozen=True, slots=True)
class Rest:
    """Until when something is left alone, and why.

    Attributes:
        until: Seconds since the epoch.
        why: Our own words with the provider's code, such as `acme answered 429`; nothing the provider wrote.
        failures: In a row.
    """

    until: float
    why: str = ""
    failures: int = 0


class Cooldowns:
    """Rests after failures, longer with each in a row; a success ends them.

    A refused key or no more credit makes everything behind that key rest; anything else only the one model.
    A request that was our own fault makes nobody rest.
    """

    def __init__(self, *, now: clock.Clock = clock.system) -> None:
        self._now = now
        self._models: dict[tuple[str, str], Rest] = {}
        self._keys: dict[str, Rest] = {}

    def rest(self, model: str, credential: str) -> float:
        """Return the seconds a model still rests; 0 when it does not.

        Args:
            model: `provider:model`.
            credential: Names the key; empty for a key nobody else uses.
        """
        resting = self.resting(model, credential)
        return resting.until - self._now() if resting else 0.0

    def resting(self, model: str, credential: str) -> Rest | None:
        """Return the longer of the rests of a model and its key; None when it does not rest."""
        rests = (self._models.get((model, credential)), self._keys.get(credential or model))
        return max(
            (rest for rest in rests if rest and rest.until > self._now()),
            key=lambda rest: rest.until,
            default=None,
        )

    def failed(self, model: str, credential: str, error: LLMError) -> None:
        """Count one request that failed for good, however often it was tried."""
        # What the provider wrote follows the colon; it may be long, and is not ours to pass on.
        why = str(error).partition(":")[0]
        long = Rest(self._now() + REJECTED_COOLDOWN, why)
        match error:
            case LLMUnavailable(retry_after=asked):
                before = self._models.get((model, credential))
                failures = before.failures + 1 if before else 1
                pause = min(COOLDOWN * 2 ** (failures - 1), MAX_COOLDOWN)
                until = self._now() + max(asked or 0.0, pause)
                self._models[model, credential] = Rest(until, why, failures)
            case LLMRejected(reason="model"):
                self._models[model, credential] = long
            case LLMRejected(reason="auth" | "quota"):
                self._keys[credential or model] = long

    def succeeded(self, model: str, credential: str) -> None:
        self._models.pop((model, credential), None)
        self._keys.pop(credential or model, None)
