"""The rows of providers.toml."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

Api = Literal[
    "openai", "responses", "anthropic", "gemini", "ollama", "bedrock", "stackspot", "guide", "local"
]
AuthStyle = Literal["bearer", "x-api-key", "x-goog-api-key", "zai", "aws", "oauth"]
Caching = Literal["marks", "automatic", "none"]

WINDOW = 128_000
EYES = ("vision", "pictures")
"""Fields that hold whatever shape a model is asked in."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Which pictures a model takes.

    One size for all, the smallest that a provider of the table gives: so no picture is lost when the next
    model of a chain takes over. Bedrock: 20 pictures of 3.75 MB,
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html. Anthropic: 5 MiB as
    base64, which is 3.9 MB, by its error texts, and with more than 20 pictures none over 2,000 pixels,
    https://platform.claude.com/docs/en/build-with-claude/vision. Gemini: 20 MB a request as base64,
    https://firebase.google.com/docs/ai-logic/input-file-requirements. All together could be
    more, but they are written as JSON at every step, which holds up all other turns (4 ms a MB).

    Attributes:
        formats: Of `jpeg`, `png`, `gif` and `webp`.
        size: Bytes of one picture at most.
        total: Bytes of all pictures of a request at most.
        count: Pictures of a request at most.
    """

    formats: Sequence[str] = ("jpeg", "png", "gif", "webp")
    size: int = 3_750_000
    total: int = 8_000_000
    count: int = 20


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table; the fields are explained there. `name` is what stands before the colon."""

    name: str
    api: Api
    base_url: str = ""
    key: bool = True
    keys: Sequence[str] = ()
    auth: AuthStyle = "bearer"
    headers: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    max_tokens: int | None = None
    limit: str = "max_tokens"
    window: int = WINDOW
    read_timeout: float = 120.0
    tools: bool = True
    parallel: bool = True
    vision: bool = False
    pictures: Mapping[str, Any] = field(default_factory=dict)
    caching: Caching = "automatic"
    quirks: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    token_url: str = ""
    opt_in: str = ""
    warning: str = ""
    retired: str = ""
    models: Sequence[Mapping[str, Any]] = ()
    modes: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def offline(self) -> bool:
        """Whether it runs in this process: nothing to reach, nothing to retry, and its own way with tools."""
        return self.api in ("guide", "local")

    @property
    def sight(self) -> Sight | None:
        """Which pictures are sent; None when none are."""
        return Sight(**self.pictures) if self.vision else None

    @property
    def prefix(self) -> str:
        return self.name.upper().replace("-", "_")

    @property
    def key_names(self) -> Sequence[str]:
        return self.keys or (f"{self.prefix}_API_KEY",)

    @property
    def url_name(self) -> str:
        return f"{self.prefix}_BASE_URL"

    def as_set(self, environ: Mapping[str, str]) -> "Provider":
        """Return the row with what the settings change: its modes, and other base URLs."""
        row = self
        for setting, values in self.modes.items():
            chosen = environ.get(setting, "").strip().lower()
            row = replace(row, **_known(values.get(chosen, {})))
        if url := environ.get(self.url_name, "").strip():
            row = replace(row, base_url=url)
        return row

    def for_model(self, model: str) -> "Provider":
        """Return the row with what differs for one model. Of a row in another mode, only what it sees."""
        for entry in self.models:
            if re.match(entry["match"], model):
                known = _known(entry)
                if self.api != load_providers()[self.name].api:
                    known = {name: value for name, value in known.items() if name in EYES}
                return replace(self, **known)
        return self

    def setting(self, name: str, environ: Mapping[str, str]) -> str:
        """Return a further setting's value; empty when it is not set."""
        found = (environ.get(alias, "").strip() for alias in self.settings.get(name, ()))
        return next((value for value in found if value), "")

    def fill(self, template: str, environ: Mapping[str, str]) -> str:
        """Put settings where a URL names them in braces."""
        return re.sub(r"\{(\w+)\}", lambda found: self.setting(found[1], environ), template)


_FIELDS = {one.name for one in fields(Provider)}


def _known(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "match"}


@lru_cache(maxsize=1)
def load_providers() -> Mapping[str, Provider]:
    """Read the table; by name, in its order.

    Raises:
        ValueError: A row has a field that does not exist.
    """
    rows = tomllib.loads(resources.files("bot.llm").joinpath("providers.toml").read_text(encoding="utf-8"))
    for name, row in rows.items():
        changes = [
            *row.get("models", ()),
            *(v for mode in row.get("modes", {}).values() for v in mode.values()),
        ]
        for one in (row, *changes):
            if unknown := set(one) - _FIELDS - {"match"}:
                raise ValueError(f"providers.toml, {name}: there is no field {sorted(unknown)[0]!r}")
    return {name: Provider(name, **row) for name, row in rows.items()}


def find(spec: str, environ: Mapping[str, str]) -> tuple[Provider, str]:
    """Return the row that holds for a `provider:model`, and the model.

    Raises:
        KeyError: There is no such provider.
    """
    name, _, model = spec.partition(":")
    return load_providers()[name].as_set(environ).for_model(model), model


def window_of(specs: Sequence[str], environ: Mapping[str, str]) -> int:
    """Return the tokens that the first model of a chain takes, question and answer together."""
    row, _ = find(specs[0], environ)
    if given := row.setting("num_ctx", environ):
        return int(given)
    return row.window
