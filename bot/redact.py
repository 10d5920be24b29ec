"""Keep secrets out of whatever is shown, logged, stored or sent."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
SHORTEST = 6
"""Values of fewer characters are not looked for: they would be found in ordinary words."""

_SECRET_NAME = re.compile(
    r"(?:.*_)?(?:API_?KEY|TOKEN|SECRET|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD|PASSWD|PASSPHRASE|MNEMONIC)"
)


def names_a_secret(name: str) -> bool:
    """Whether an environment variable of this name holds a secret: `OPENAI_API_KEY`, `DB_PASSWORD`, …"""
    return _SECRET_NAME.fullmatch(name.upper()) is not None


class Redactor:
    """Replaces secrets with `MASK`. One for the process; a secret learnt later is added to it.

    Found are the exact values given, also as they look inside a URL, JSON, hex or base64, and whatever has
    the shape of a well-known key. A transaction hash (0x and 64 hex digits) has no such shape.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, value: str) -> None:
        """Look for this value from now on; one shorter than `SHORTEST` is ignored."""
        value = value.strip()
        if len(value) < SHORTEST or value in MASK:
            return
        # Longest first, or a secret that begins another would leave the other's tail.
        self._forms = tuple(sorted({*self._forms, *_forms(value)}, key=lambda form: (-len(form), form)))

    def redact(self, text: str) -> str:
        """Return the text with every secret replaced. Redacting again changes nothing; time is linear."""
        # Pieces are never joined before the end: a mask's neighbours must not make a secret with it.
        pieces = text.split(MASK)
        for form in self._forms:
            if form in text:
                pieces = [part for piece in pieces for part in piece.split(form)]
        for hints, shape, keep_hashes in _SHAPES:
            if any(hint in text for hint in hints):
                pieces = [part for piece in pieces for part in _cut(piece, shape, keep_hashes)]
        return MASK.join(pieces)


def _forms(value: str) -> set[str]:
    raw = value.encode("utf-8", "surrogatepass")
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    percent = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    forms |= percent | {re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), form) for form in percent}
    forms |= {raw.hex(), raw.hex().upper()}
    # Base64 of a text that holds the value anywhere, such as user:password in a Basic header: the value
    # begins at one of three offsets, and only the characters made of its bytes alone are sure.
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        end = len(encoded) if (before + len(raw)) % 3 == 0 else len(encoded) - 1
        sure = encoded[-(-before * 8 // 6) : end]
        forms |= {sure, sure.translate(str.maketrans("+/", "-_"))} if len(sure) >= 8 else set()
    return {form for form in forms if len(form) >= SHORTEST and form not in MASK}


def _cut(text: str, shape: re.Pattern[str], keep_hashes: bool) -> list[str]:
    """Split the text at what group `secret` of the shape matched."""
    parts: list[str] = []
    start = 0
    for match in shape.finditer(text):
        if keep_hashes and _HASH.fullmatch(match["secret"]):
            continue
        parts.append(text[start : match.start("secret")])
        start = match.end("secret")
    parts.append(text[start:])
    return parts


_HASH = re.compile(r"0x[0-9a-fA-F]{64}")

# Every quantifier that could be retried is bounded, or its class leaves out what follows: no text is slow.
# What names or introduces a secret goes first: it takes the whole value where a key's shape may end early.
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], bool], ...] = (
    (
        ("PRIVATE KEY",),
        re.compile(
            r"(?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*))",
            re.DOTALL,
        ),
        True,
    ),
    (
        # `NAME=value` as env files and `env` print it. `$NAME` is a reference, no secret.
        ("KEY=", "TOKEN=", "SECRET=", "PASSWORD=", "PASSWD=", "PASSPHRASE=", "MNEMONIC="),
        re.compile(
            r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|MNEMONIC)="
            r"(?:\"(?P<quoted>)|'|)(?P<secret>(?!\$[A-Za-z_{(])(?(quoted)[^\"\n]|[^\s\"'&;|]){8,})"
        ),
        False,
    ),
    (
        ("uthorization", "UTHORIZATION", "api-key", "Api-Key", "API-Key", "API-KEY", "Bearer ", "bearer "),
        re.compile(
            r"(?i:authorization[\"']?\s{0,8}[:=]\s{0,8}[\"']?(?:(?:bearer|basic|token)\s{1,8})?"
            r"|\bapi-key[\"']?\s{0,8}[:=]\s{0,8}[\"']?"
            r"|\bbearer\s{1,8}(?=[^\s\"',]{20}))"
            r"(?P<secret>(?!\$[A-Za-z_{(]|(?i:bearer|basic|token)\b)[^\s\"',\\]{6,})"
        ),
        True,
    ),
    (
        ("://",),
        re.compile(r"://[^\s/?#:\"'<>`]{0,256}:(?P<secret>(?!\$[A-Za-z_{(])[^\s/?#\"'<>`]{1,512})@"),
        True,
    ),
    (
        # A bot token, in a URL after "bot" too. https://core.telegram.org/bots/api#authorizing-your-bot
        (":", "%3"),
        re.compile(r"(?<![0-9])(?P<secret>[0-9]{6,12}(?::|%3[Aa])(?!0x[0-9a-fA-F]{64})[A-Za-z0-9_-]{30,})"),
        True,
    ),
    (
        ("sk-", "sk_", "rk_", "gsk_", "xai-", "pplx-", "tvly-", "hf_", "r8_", "npm_", "nvapi-", "csk-"),
        re.compile(
            r"(?<![A-Za-z0-9])(?P<secret>(?:sk-|csk-|[rs]k_(?:live|test)_|gsk_|xai-|pplx-|tvly-|hf_|r8_|npm_|nvapi-)"
            r"[A-Za-z0-9_-]{16,})"
        ),
        True,
    ),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "SG."),
        re.compile(
            r"(?<![A-Za-z0-9])(?P<secret>(?:gh[opusr]_|github_pat_|glpat-|xox[a-z]-|xapp-|SG\.)[A-Za-z0-9_.-]{16,})"
        ),
        True,
    ),
    (
        ("AKIA", "ASIA", "AIza"),
        re.compile(
            r"(?<![A-Za-z0-9])(?P<secret>(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_-]{35,})"
        ),
        True,
    ),
    (
        # A JSON Web Token: "eyJ" is how `{"` begins in base64.
        ("eyJ",),
        re.compile(
            r"(?<![A-Za-z0-9])(?P<secret>eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)"
        ),
        True,
    ),
)
