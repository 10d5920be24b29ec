"""Models: one client an API, and the wrappers that retry, fall back, count and write tools as text."""

from bot.llm.providers import build_client, open_http, provider_problems

__all__ = ["build_client", "open_http", "provider_problems"]
