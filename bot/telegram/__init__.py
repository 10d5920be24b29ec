"""The Telegram face: updates in, messages, cards and progress out."""
