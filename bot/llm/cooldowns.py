"""Which models are left alone for a while, by provider, model and key (requirement F5)."""

from dataclasses import dataclass

from bot import clock
from bot.errors import LLMError, LLMRejected, LLMUnavailable

COOLDOWN = 30.0
MAX_COOLDOWN = 600.0
REJECTED_COOLDOWN = 300.0


@dataclass(slots=True)
class _Rest:
    failures: int = 0
    until: float = 0.0


class Cooldowns:
    """Rests after failures, longer with each in a row; a success ends them.

    A refused key or no more credit makes everything behind that key rest; anything else only the one model.
    A request that was our own fault makes nobody rest.
    """

    def __init__(self, *, now: clock.Clock = clock.system) -> None:
        self._now = now
        self._models: dict[tuple[str, str], _Rest] = {}
        self._keys: dict[str, _Rest] = {}

    def rest(self, model: str, credential: str) -> float:
        """Return the seconds a model still rests; 0 when it does not.

        Args:
            model: `provider:model`.
            credential: Names the key; empty for a key nobody else uses.
        """
        rests = (self._models.get((model, credential)), self._keys.get(credential or model))
        return max(0.0, *(rest.until - self._now() for rest in rests if rest), 0.0)

    def failed(self, model: str, credential: str, error: LLMError) -> None:
        """Count one request that failed for good, however often it was tried."""
        match error:
            case LLMUnavailable(retry_after=asked):
                rest = self._models.setdefault((model, credential), _Rest())
                rest.failures += 1
                pause = min(COOLDOWN * 2 ** (rest.failures - 1), MAX_COOLDOWN)
                rest.until = self._now() + max(asked or 0.0, pause)
            case LLMRejected(reason="model"):
                self._models.setdefault((model, credential), _Rest()).until = self._now() + REJECTED_COOLDOWN
            case LLMRejected(reason="auth" | "quota"):
                self._keys.setdefault(credential or model, _Rest()).until = self._now() + REJECTED_COOLDOWN

    def succeeded(self, model: str, credential: str) -> None:
        self._models.pop((model, credential), None)
        self._keys.pop(credential or model, None)
