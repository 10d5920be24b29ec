"""From a row of the table to the client of its wire format; only that one is imported."""

from collections.abc import Mapping
from typing import Any

import httpx

from bot.llm.auth import Auth, ClientCredentials, SigV4, ZaiToken
from bot.llm.base import LLMClient
from bot.llm.seeing import Seeing
from bot.llm.table import Provider


def connect(
    row: Provider, model: str, key: str, environ: Mapping[str, str], http: httpx.AsyncClient
) -> LLMClient:
    """Return a client for one model, without retries or tools as text.

    Args:
        row: As `table.find` returns it; nothing that it needs is missing.
    """
    client = _wire(row, model, key, environ, http)
    return client if row.offline else Seeing(client, row.sight)


def _wire(
    row: Provider, model: str, key: str, environ: Mapping[str, str], http: httpx.AsyncClient
) -> LLMClient:
    url = row.fill(row.base_url, environ).rstrip("/")
    auth = _auth(row, key, environ)
    headers = {**row.headers, **_key_header(row, key, auth)}
    common: dict[str, Any] = {
        "provider": row.name,
        "key": key,
        "model": model,
        "max_tokens": row.max_tokens,
        "headers": headers,
        "auth": auth,
        "read_timeout": row.read_timeout,
    }
    match row.api:
        case "guide":
            from bot.llm.guide import Guide

            return Guide(model)
        case "local":
            from bot.llm.local import LocalModel, model_file

            return LocalModel(model_file(environ))
        case "anthropic":
            from bot.llm.anthropic import Anthropic

            ttl = row.setting("cache_ttl", environ)
            common["max_tokens"] = row.max_tokens or 8192
            return Anthropic(http, base_url=url, cache_ttl=ttl, **common)
        case "responses":
            from bot.llm.responses import Responses

            return Responses(http, url=f"{url}/responses", **common)
        case "gemini":
            from bot.llm.gemini import Gemini

            name = model if "/" in model else f"models/{model}"
            return Gemini(http, url=f"{url}/{name}:streamGenerateContent?alt=sse", **common)
        case "ollama":
            from bot.llm.ollama import Ollama

            client = Ollama(http, url=f"{url.removesuffix('/v1').removesuffix('/api')}/api/chat", **common)
            client.num_ctx = int(row.setting("num_ctx", environ) or row.window)
            return client
        case "bedrock":
            from bot.llm.bedrock import Bedrock, converse_url

            return Bedrock(http, url=converse_url(url, model), **common)
        case "stackspot":
            from bot.llm.stackspot import StackSpot, chat_url

            return StackSpot(http, url=chat_url(url.removesuffix("/v1"), model), **common)
        case "openai":
            from bot.llm import ids
            from bot.llm.openai_chat import ChatQuirks, OpenAIChat

            quirks = {"limit_parameter": row.limit, "extra": row.extra, **row.quirks}
            if quirks.pop("ids", "") == "mistral":
                quirks["id_style"] = ids.MISTRAL
            return OpenAIChat(http, base_url=url, quirks=ChatQuirks(**quirks), **common)


def _auth(row: Provider, key: str, environ: Mapping[str, str]) -> Auth | None:
    match row.auth:
        case "zai" if key.count(".") == 1:
            return ZaiToken(key)
        case "oauth":
            token_url = row.setting("token_url", environ) or row.fill(row.token_url, environ)
            return ClientCredentials(row.name, token_url, row.setting("client_id", environ), key)
        case "aws" if not key:
            return SigV4(row.setting("region", environ), environ)
    return None


def _key_header(row: Provider, key: str, auth: Auth | None) -> Mapping[str, str]:
    if auth is not None or not key:
        return {}
    match row.auth:
        case "x-api-key" | "x-goog-api-key":
            return {row.auth: key}
    return {"authorization": f"Bearer {key}"}
