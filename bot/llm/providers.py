"""From `provider:model` to a client, by the rows of providers.toml."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import httpx

from bot.errors import ConfigError
from bot.llm.base import LLMClient
from bot.llm.fallback import Fallback
from bot.llm.metered import Metered, OnUsage
from bot.llm.retrying import Retrying

ToolsMode = Literal["auto", "native", "text"]

MAX_IDLE_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Provider:
    """A row of the table; `name` as in `LLM_MODEL`, `quirks` the fields of ChatQuirks it changes."""

    name: str
    api: Literal["openai", "anthropic"]
    base_url: str
    key_needed: bool
    max_tokens: int | None
    quirks: Mapping[str, Any]

    @property
    def key_name(self) -> str:
        return f"{self.name.upper()}_API_KEY"

    @property
    def url_name(self) -> str:
        return f"{self.name.upper()}_BASE_URL"


def load_providers() -> dict[str, Provider]:
    """Read the table; by name, in its order."""
    rows = tomllib.loads(resources.files("bot.llm").joinpath("providers.toml").read_text(encoding="utf-8"))
    return {name: _provider(name, row) for name, row in rows.items()}


def _provider(name: str, row: Mapping[str, Any]) -> Provider:
    quirks = {
        field: row[field]
        for field in ("stream_options", "user_after_tool", "reasoning_required")
        if field in row
    }
    if "limit" in row:
        quirks["limit_parameter"] = row["limit"]
    if "ids" in row:
        quirks["ids"] = row["ids"]
    return Provider(
        name, row["api"], row.get("base_url", ""), row.get("key", True), row.get("max_tokens"), quirks
    )


def provider_problems(models: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return what keeps the models from being asked: one sentence each, naming the setting to fix.

    Args:
        models: `provider:model`; the first is LLM_MODEL, the others LLM_FALLBACKS.
        environ: Settings by name. `CREDENTIALS_DIRECTORY` in it is where key files are looked for.
    """
    providers = load_providers()
    problems: list[str] = []
    for index, spec in enumerate(models):
        setting = "LLM_FALLBACKS" if index else "LLM_MODEL"
        name, _, model = spec.partition(":")
        provider = providers.get(name)
        if not model:
            problems.append(f"{setting}: {spec!r} is not of the form provider:model")
        elif provider is None:
            problems.append(f"{setting}: no provider {name!r}; there are {', '.join(providers)}")
        else:
            problems += _provider_problems(provider, environ)
    return list(dict.fromkeys(problems))


def _provider_problems(provider: Provider, environ: Mapping[str, str]) -> list[str]:
    problems: list[str] = []
    url = environ.get(provider.url_name) or provider.base_url
    if not url:
        problems.append(f"{provider.url_name} is not set: where is the {provider.name} server?")
    elif not _is_url(url):
        problems.append(f"{provider.url_name}: {url!r} is not an http or https address")
    try:
        key = find_key(provider, environ)
    except ConfigError as exc:
        return [*problems, *exc.problems]
    if provider.key_needed and not key:
        problems.append(f"{provider.key_name} is not set")
    elif not key.isascii() or not key.isprintable():
        problems.append(f"{provider.key_name} holds characters that no key has")
    return problems


def _is_url(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host)


def find_key(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the key from `<PROVIDER>_API_KEY`, else from the file `<provider>_api_key`; empty if neither is.

    Raises:
        ConfigError: The file is there and can't be read.
    """
    if key := environ.get(provider.key_name, "").strip():
        return key
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        return ""
    path = Path(folder) / provider.key_name.lower()
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{provider.key_name}: {str(path)!r} can't be read: {type(exc).__name__}") from None


def build_client(
    models: Sequence[str],
    environ: Mapping[str, str],
    http: httpx.AsyncClient,
    *,
    tools_mode: ToolsMode = "auto",
    on_usage: OnUsage | None = None,
) -> LLMClient:
    """Return the client the agent asks: the models in order, each retried, the next taking over.

    Args:
        models: As for `provider_problems`; at least one.
        http: Shared by all; see `open_http`. It stays the caller's to close.
        tools_mode: `native` and `text` for tools in fields of their own and as text; `auto` begins with the
            former and changes to the latter for a model that takes no tools.
        on_usage: Called with every reply's model and tokens.

    Raises:
        ConfigError: What `provider_problems` says.
    """
    if problems := provider_problems(models, environ):
        raise ConfigError(*problems)
    providers = load_providers()
    specs = list(dict.fromkeys(models))
    # With another model at hand nobody is kept waiting for this one.
    deadline = 60.0 if len(specs) == 1 else 10.0
    chain: list[tuple[str, LLMClient]] = []
    for spec in specs:
        name, _, model = spec.partition(":")
        native = _native(providers[name], model, environ, http)
        chain.append((spec, Retrying(with_tools(native, tools_mode), deadline=deadline)))
    client: LLMClient = chain[0][1] if len(chain) == 1 else Fallback(chain)
    return client if on_usage is None else Metered(client, on_usage)


def with_tools(native: LLMClient, mode: ToolsMode) -> LLMClient:
    """Wrap a client so that it takes tools in the way asked for, and shows no markup in any."""
    from bot.llm.auto_tools import AutoTools
    from bot.llm.leak_free import LeakFree
    from bot.llm.text_tools import TextTools

    match mode:
        case "native":
            return LeakFree(native)
        case "text":
            return TextTools(native)
        case "auto":
            return AutoTools(LeakFree(native), TextTools(native))


def _native(provider: Provider, model: str, environ: Mapping[str, str], http: httpx.AsyncClient) -> LLMClient:
    url = environ.get(provider.url_name) or provider.base_url
    key = find_key(provider, environ)
    if provider.api == "anthropic":
        from bot.llm.anthropic import Anthropic

        return Anthropic(
            http,
            provider=provider.name,
            base_url=url,
            key=key,
            model=model,
            max_tokens=provider.max_tokens or 8192,
        )
    from bot.llm import ids
    from bot.llm.openai_chat import ChatQuirks, OpenAIChat

    quirks = dict(provider.quirks)
    if quirks.pop("ids", "") == "mistral":
        quirks["id_style"] = ids.MISTRAL
    return OpenAIChat(
        http,
        provider=provider.name,
        base_url=url,
        key=key,
        model=model,
        max_tokens=provider.max_tokens,
        quirks=ChatQuirks(**quirks),
    )


def open_http() -> httpx.AsyncClient:
    """Open the one HTTP client all models share; the caller closes it.

    As many requests at once as there are turns, but few idle connections: the pool looks at every idle one
    for each request, which at 200 of them costs more than the requests do.
    """
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=30.0
    )
    return httpx.AsyncClient(limits=limits)
