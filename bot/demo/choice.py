"""Which model the demo thinks with: one that is set up, else Ollama, else the guide that needs none."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.environ import load_environ
from bot.errors import ConfigError
from bot.llm.providers import provider_problems

OLLAMA = "http://127.0.0.1:11434/v1"
OLLAMA_WAIT = 1.5
"""Seconds: a server on this machine answers at once, or there is none."""
GUIDE = "guide:offline"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """A model and why it was chosen.

    Attributes:
        model: `provider:model`.
        why: For people.
        environ: Settings that the model needs.
        env_file: What the bot reads its further settings from.
        configured: The owner has set it up; its settings, and credentials, are where they put them.
    """

    model: str
    why: str
    environ: Mapping[str, str] = field(default_factory=dict)
    env_file: str = os.devnull
    configured: bool = False


async def choose(asked: str, env_file: Path, environ: Mapping[str, str], say: Say) -> Choice:
    """Return the model to think with.

    Args:
        asked: `local`, `guide` or `provider:model`; empty for the first that there is.
        say: Told of what takes long, and of a model that was passed over.

    Raises:
        ConfigError: What was asked for can't be had.
    """
    merged, _ = load_environ(env_file, environ)
    match asked:
        case "":
            return configured(merged, env_file, say) or await ollama(merged) or guide()
        case "guide":
            return Choice(GUIDE, "asked for; answers plain server questions without any model")
        case "local":
            return await local(merged, say)
    if problems := provider_problems([asked], merged):
        raise ConfigError(*problems)
    return Choice(asked, "asked for", llm_settings(merged), str(env_file), configured=True)


def configured(merged: Mapping[str, str], env_file: Path, say: Say) -> Choice | None:
    """Return the model that the settings name, if it can be used."""
    model = merged.get("LLM_MODEL", "").strip()
    if not model:
        return None
    fallbacks = [word.strip() for word in merged.get("LLM_FALLBACKS", "").split(",") if word.strip()]
    if problems := provider_problems([model, *fallbacks], merged):
        say(f"passing over LLM_MODEL={model}: {'; '.join(problems)}")
        return None
    return Choice(model, "set up by LLM_MODEL", llm_settings(merged), str(env_file), configured=True)


def llm_settings(merged: Mapping[str, str]) -> dict[str, str]:
    return {name: merged[name] for name in ("LLM_FALLBACKS", "LLM_TOOLS") if merged.get(name)}


async def ollama(merged: Mapping[str, str]) -> Choice | None:
    """Return the model used last of an Ollama that answers on this machine."""
    import httpx

    base = (merged.get("OLLAMA_BASE_URL") or OLLAMA).rstrip("/")
    tags = base.removesuffix("/v1") + "/api/tags"
    try:
        async with httpx.AsyncClient(timeout=OLLAMA_WAIT, trust_env=False) as http:
            answer = await http.get(tags)
        models = [str(model["name"]) for model in answer.raise_for_status().json()["models"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        return None
    if not models:
        return None
    return Choice(f"ollama:{models[0]}", "an Ollama answers on this machine", {"OLLAMA_BASE_URL": base})


async def local(merged: Mapping[str, str], say: Say) -> Choice:
    """Return the embedded model, fetched if it is not here yet.

    Raises:
        ConfigError: It can't be had.
    """
    from bot.llm import local as embedded

    path = await embedded.make_ready(merged, say)
    return Choice(
        "local:qwen2.5-coder-0.5b",
        "asked for; it is very small and makes mistakes, so every command of it asks",
        {"LOCAL_MODEL_FILE": str(path)},
    )


def guide() -> Choice:
    return Choice(GUIDE, "no model is set up; it answers plain server questions without one")
