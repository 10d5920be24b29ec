"""Kai: a self-hosted Telegram agent that asks before anything risky."""

__version__ = "0.1.0"
