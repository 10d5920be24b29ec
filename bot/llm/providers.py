"""From `provider:model` to a client, by the rows of providers.toml."""

import contextlib
import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import httpx

from bot import clock
from bot.errors import ConfigError
from bot.llm.base import LLMClient
from bot.llm.connect import connect
from bot.llm.fallback import Entry, Fallback
from bot.llm.metered import Metered, OnUsage
from bot.llm.retrying import Retrying
from bot.llm.table import Provider, find, load_providers, window_of

__all__ = [
    "build_client",
    "find_key",
    "load_providers",
    "open_http",
    "provider_problems",
    "provider_secrets",
    "window_of",
]

log = logging.getLogger(__name__)

ToolsMode = Literal["auto", "native", "text"]

MAX_IDLE_CONNECTIONS = 16


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
        elif provider.retired:
            problems.append(f"{setting}: {spec!r}: {provider.retired}")
        else:
            problems += _provider_problems(provider.as_set(environ), environ)
    return list(dict.fromkeys(problems))


def _provider_problems(provider: Provider, environ: Mapping[str, str]) -> list[str]:
    problems: list[str] = []
    if provider.offline:
        from bot.llm.local import local_problems

        return local_problems(environ) if provider.api == "local" else []
    if provider.opt_in and not _is_on(environ.get(provider.opt_in, "")):
        problems.append(
            f"{provider.name} is off: {provider.warning}. To use it all the same set {provider.opt_in}=1"
        )
    url = provider.base_url
    if not url:
        problems.append(f"{provider.url_name} is not set: where is the {provider.name} server?")
    elif not _is_url(provider.fill(url, environ)):
        problems.append(f"{provider.url_name}: {url!r} is not an http or https address")
    needed = [url, provider.token_url if not provider.setting("token_url", environ) else ""]
    for name, aliases in provider.settings.items():
        asked = any(f"{{{name}}}" in template for template in needed) or name in ("client_id", "region")
        if asked and not provider.setting(name, environ):
            problems.append(f"{aliases[0]} is not set")
    if (ttl := provider.setting("cache_ttl", environ)) not in ("", "5m", "1h"):
        problems.append(f"{provider.settings['cache_ttl'][0]}: {ttl!r} is neither 5m nor 1h")
    if (given := provider.setting("num_ctx", environ)) and not (given.isdecimal() and int(given) >= 1024):
        problems.append(f"{provider.settings['num_ctx'][0]}: {given!r} is not a number of tokens")
    try:
        key = find_key(provider, environ)
    except ConfigError as exc:
        return [*problems, *exc.problems]
    return problems + _key_problems(provider, key, environ)


def _key_problems(provider: Provider, key: str, environ: Mapping[str, str]) -> list[str]:
    name = provider.key_names[0]
    if provider.auth == "x-api-key" and (key.startswith("sk-ant-oat") or (not key and _oauth(environ))):
        return [
            f"{name} is needed: a token of a Claude subscription works in Anthropic's own applications only,"
            " using it elsewhere breaks their terms; make an API key at console.anthropic.com"
        ]
    if provider.key and not key:
        others = f" (or {', '.join(provider.key_names[1:])})" if provider.key_names[1:] else ""
        return [f"{name} is not set{others}"]
    if not key.isascii() or not key.isprintable():
        return [f"{name} holds characters that no key has"]
    if provider.auth == "aws" and not key and not _has_botocore():
        return [f"{name} is not set; to sign with AWS credentials instead: pip install 'kai-bot[bedrock]'"]
    return []


def _oauth(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("ANTHROPIC_OAUTH_TOKEN") or environ.get("CLAUDE_CODE_OAUTH_TOKEN"))


def _has_botocore() -> bool:
    from importlib.util import find_spec

    return find_spec("botocore") is not None


def _is_on(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on")


def _is_url(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host)


def find_key(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the key: from the first of its names that is set, else from a file of such a name in lower case.

    Empty if there is none.

    Raises:
        ConfigError: The file is there and can't be read.
    """
    for name in provider.key_names:
        if key := environ.get(name, "").strip():
            return key
    folder = environ.get("CREDENTIALS_DIRECTORY")
    for name in provider.key_names if folder else ():
        path = Path(folder or "") / name.lower()
        try:
            return path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"{name}: {str(path)!r} can't be read: {type(exc).__name__}") from None
    return ""


def keyed_providers(environ: Mapping[str, str]) -> list[str]:
    """Return the providers that have a key of their own, by name; their models can be asked for."""
    names = []
    for provider in load_providers().values():
        with contextlib.suppress(ConfigError):
            if find_key(provider, environ):
                names.append(provider.name)
    return names


def provider_secrets(environ: Mapping[str, str]) -> set[str]:
    """Return every key the settings hold, whatever its name looks like: what no one may see."""
    names = [name for provider in load_providers().values() for name in provider.key_names]
    names += ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ANTHROPIC_OAUTH_TOKEN"]
    return {value for name in names if len(value := environ.get(name, "").strip()) >= 8}


def build_client(
    models: Sequence[str],
    environ: Mapping[str, str],
    http: httpx.AsyncClient,
    *,
    tools_mode: ToolsMode = "auto",
    on_usage: OnUsage | None = None,
    now: clock.Clock = clock.system,
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
    specs = list(dict.fromkeys(models))
    # With another model at hand nobody is kept waiting for this one.
    deadline = 60.0 if len(specs) == 1 else 10.0
    chain: list[Entry] = []
    for spec in specs:
        row, model = find(spec, environ)
        if row.warning:
            log.warning("%s: %s", row.name, row.warning)
        key = find_key(row, environ)
        native = connect(row, model, key, environ, http)
        if not row.tools and tools_mode == "native":
            log.warning("%s takes no tools of its own; they are written as text", row.name)
        chain.append(
            Entry(
                spec,
                native
                if row.offline
                else Retrying(with_tools(native, tools_mode), deadline=deadline, now=now),
                credential=f"{row.name}:{hashlib.sha256(key.encode()).hexdigest()[:16]}",
                window=row.window,
                takes_tools=row.tools or tools_mode != "native",
            )
        )
    client: LLMClient = chain[0].client if len(chain) == 1 else Fallback(chain, now=now)
    return client if on_usage is None else Metered(client, on_usage)


def with_tools(native: LLMClient, mode: ToolsMode) -> LLMClient:
    """Wrap a client so that it takes tools in the way asked for, and shows no markup in any."""
    from bot.llm.auto_tools import AutoTools
    from bot.llm.leak_free import LeakFree
    from bot.llm.text_tools import TextTools

    if not native.supports_native_tools:
        return TextTools(native)
    match mode:
        case "native":
            return LeakFree(native)
        case "text":
            return TextTools(native)
        case "auto":
            return AutoTools(LeakFree(native), TextTools(native))


def open_http() -> httpx.AsyncClient:
    """Open the one HTTP client all models share; the caller closes it.

    As many requests at once as there are turns, but few idle connections: the pool looks at every idle one
    for each request, which at 200 of them costs more than the requests do.
    """
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=30.0
    )
    return httpx.AsyncClient(limits=limits)
