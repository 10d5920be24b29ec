"""One API of the scripted model: what is particular to it, as a set of functions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from starlette.requests import Request

from bot.demo.model_request import ModelRequest
from bot.demo.model_rules import Refused, Traits
from bot.demo.model_streams import Reply, raw_events


class Service(ABC):
    """Answers in the API's own words."""

    shape: ClassVar[str]
    paths: ClassVar[Sequence[str]]
    media_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def authorise(self, request: Request, content: bytes, key: str | None) -> None:
        """Raise Refused unless the key is right."""
        if key is not None and request.headers.get("authorization") != f"Bearer {key}":
            raise Refused("invalid api key", status=401, kind="authentication_error", code="invalid_api_key")

    def model(self, request: Request, body: Mapping[str, Any]) -> str:
        """Return the model asked for."""
        return str(body.get("model"))

    def unknown_model(self, model: str) -> Refused:
        return Refused(f"The model `{model}` does not exist.", status=404, code="model_not_found")

    @abstractmethod
    def check(self, body: Mapping[str, Any], traits: Traits) -> None:
        """Raise Refused where the service would."""

    @abstractmethod
    def read(self, body: Mapping[str, Any], model: str) -> ModelRequest:
        """Return a checked request in neutral form."""

    @abstractmethod
    def events(self, reply: Reply, asked: ModelRequest, number: int) -> list[bytes]:
        """Return the events of a reply; `number` makes ids unique."""

    @abstractmethod
    def error(self, refused: Refused) -> Mapping[str, Any]:
        """Return the body of a refusal."""

    @abstractmethod
    def error_event(self, text: str) -> bytes:
        """Return the error that comes in the middle of a stream."""

    def raw(self, events: Sequence[str]) -> list[bytes]:
        """Return events given as text."""
        return raw_events(events)
