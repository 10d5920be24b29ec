"""The settings: read from a mapping, every mistake named at once.

The names are a contract with whoever runs the bot; `SETTINGS` is the only list of them. `bot.environ` makes
the mapping.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from bot.environ import is_locale
from bot.errors import ConfigError
from bot.redact import Redactor, names_a_secret

LLMTools = Literal["auto", "native", "text"]
Language = Literal["en", "id", "pt"]
LogFormat = Literal["text", "json"]
Switch = Literal["on", "off"]
SandboxLevel = Literal["off", "user", "ro", "strict"]

TELEGRAM_API_URL = "https://api.telegram.org"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

SETTINGS = (
    "TELEGRAM_BOT_TOKEN",
    "TELEGRAM_API_URL",
    "ADMIN_IDS",
    "ALLOWED_IDS",
    "LLM_MODEL",
    "LLM_FALLBACKS",
    "LLM_TOOLS",
    "STATE_DIR",
    "WORK_DIR",
    "SOUL_FILE",
    "MAX_STEPS",
    "SANDBOX",
    "SANDBOX_USER",
    "TOOL_TIMEOUT",
    "RESULT_CHARS",
    "APPROVAL_TTL",
    "REVERT_AFTER",
    "TURN_TIMEOUT",
    "TURN_TOKENS",
    "DAILY_TOKENS",
    "SEND_RATE",
    "STREAM",
    "REACTIONS",
    "TRANSCRIBE_URL",
    "TRANSCRIBE_MODEL",
    "LANGUAGE",
    "LOG_LEVEL",
    "LOG_FORMAT",
)
"""Every setting but the providers' own, which are `<PROVIDER>_API_KEY` and `<PROVIDER>_BASE_URL`, and those
that tools read for themselves (`bot.tools.settings`)."""

# What people write who come from other bots; a slip of the keyboard is found by likeness.
OTHER_NAMES = {
    "BOT_TOKEN": "TELEGRAM_BOT_TOKEN",
    "TELEGRAM_TOKEN": "TELEGRAM_BOT_TOKEN",
    "TG_BOT_TOKEN": "TELEGRAM_BOT_TOKEN",
    "ADMINS": "ADMIN_IDS",
    "ADMIN_USER_IDS": "ADMIN_IDS",
    "ALLOWED_USERS": "ALLOWED_IDS",
    "ALLOWED_USER_IDS": "ALLOWED_IDS",
    "ALLOWED_CHATS": "ALLOWED_IDS",
    "MODEL": "LLM_MODEL",
    "MAX_AGENTIC_STEPS": "MAX_STEPS",
}

_PROVIDER_SETTING = re.compile(r"[A-Z][A-Z0-9_]*_(API_KEY|BASE_URL)")
_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]{30,}")
_MODEL = re.compile(r"[a-z0-9][a-z0-9_-]*:\S+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator chose. Times are seconds.

    Attributes:
        telegram_api_url: Without a slash at the end and without `/bot`.
        admin_ids: Users who may approve and use admin commands; never empty, all positive.
        allowed_ids: Further users (positive) and groups (negative) that may talk; may be empty.
        llm_model: `provider:model`; the model may hold colons itself.
        llm_fallbacks: The same, in the order to try.
        state_dir: Absolute; need not exist yet.
        work_dir: Absolute; exists. Where commands start.
        soul_file: Absolute; exists. Re-read when it changes.
        sandbox: Around commands that nobody was asked about; see `bot.tools.sandbox`.
        sandbox_user: Of this machine; empty only when the level needs none.
        result_chars: Of a tool result as the model sees it.
        turn_timeout: Wall clock of one turn, waiting for a person left out.
        turn_tokens: Tokens of one turn; None for no limit.
        daily_tokens: Tokens of all turns of a day; None for no limit.
        send_rate: Messages a second over all chats.
        stream: Whether an answer is shown while it is being written.
        reactions: Whether a message is marked as received, and as done.
        transcribe_url: Of an OpenAI-compatible API for voice messages; empty when there is none.
        secrets: Every value no one may see: the token, keys, and what else the environment holds under a
            secret's name.
    """

    telegram_bot_token: str = field(repr=False)
    telegram_api_url: str
    admin_ids: frozenset[int]
    allowed_ids: frozenset[int]
    llm_model: str
    llm_fallbacks: tuple[str, ...]
    llm_tools: LLMTools
    state_dir: Path
    work_dir: Path
    soul_file: Path
    max_steps: int
    sandbox: SandboxLevel
    sandbox_user: str
    tool_timeout: float
    result_chars: int
    approval_ttl: float
    revert_after: float
    turn_timeout: float
    turn_tokens: int | None
    daily_tokens: int | None
    send_rate: float
    stream: Switch
    reactions: Switch
    transcribe_url: str
    transcribe_model: str
    language: Language
    log_level: str
    log_format: LogFormat
    secrets: tuple[str, ...] = field(repr=False)


def load_settings(
    environ: Mapping[str, str],
    *,
    problems: Iterable[str] = (),
    others: Collection[str] = (),
    check: Callable[[Settings], Iterable[str]] | None = None,
) -> Settings:
    """Return the settings, or say everything that is wrong with them.

    Args:
        problems: Mistakes already found elsewhere; they become part of the one error.
        others: Names of settings that are read elsewhere; a slip in one of them is found here too.
        check: Finds mistakes only another layer can see (is there such a provider, has it a key). It is given
            the settings even when some are wrong: those hold their default, and the token and `llm_model` may
            be empty.

    Raises:
        ConfigError: With one problem a mistake; never a secret's value.
    """
    read = _Reader({name: value.strip() for name, value in environ.items() if value.strip()})
    home = Path(read.environ.get("HOME") or Path.home())
    settings = Settings(
        telegram_bot_token=read.token("TELEGRAM_BOT_TOKEN"),
        telegram_api_url=read.url("TELEGRAM_API_URL", TELEGRAM_API_URL),
        admin_ids=read.admins("ADMIN_IDS"),
        allowed_ids=read.ids("ALLOWED_IDS"),
        llm_model=read.model("LLM_MODEL"),
        llm_fallbacks=read.models("LLM_FALLBACKS"),
        llm_tools=cast("LLMTools", read.choice("LLM_TOOLS", get_args(LLMTools))),
        state_dir=read.path("STATE_DIR", _default_state_dir(read.environ, home)),
        work_dir=read.folder("WORK_DIR", home),
        soul_file=read.file("SOUL_FILE", Path(__file__).with_name("SOUL.md")),
        max_steps=read.count("MAX_STEPS", 12, least=1),
        sandbox=cast("SandboxLevel", read.choice("SANDBOX", get_args(SandboxLevel))),
        sandbox_user=read.environ.get("SANDBOX_USER", ""),
        tool_timeout=read.amount("TOOL_TIMEOUT", 120),
        result_chars=read.count("RESULT_CHARS", 2000, least=200),
        approval_ttl=read.amount("APPROVAL_TTL", 1800),
        revert_after=read.amount("REVERT_AFTER", 300),
        turn_timeout=read.amount("TURN_TIMEOUT", 1800),
        turn_tokens=read.count("TURN_TOKENS", 1_000_000, least=0) or None,
        daily_tokens=read.count("DAILY_TOKENS", 0, least=0) or None,
        send_rate=read.amount("SEND_RATE", 30),
        stream=cast("Switch", read.choice("STREAM", get_args(Switch))),
        reactions=cast("Switch", read.choice("REACTIONS", get_args(Switch))),
        transcribe_url=read.url("TRANSCRIBE_URL", "") if "TRANSCRIBE_URL" in read.environ else "",
        transcribe_model=read.environ.get("TRANSCRIBE_MODEL", "whisper-1"),
        language=read.language("LANGUAGE"),
        log_level=read.choice("LOG_LEVEL", LOG_LEVELS, default="INFO"),
        log_format=cast("LogFormat", read.choice("LOG_FORMAT", get_args(LogFormat))),
        secrets=_secrets(read.environ),
    )
    found = [*problems, *read.problems, *_misspelt(read.environ, (*SETTINGS, *others))]
    if settings.sandbox == "user" and not settings.sandbox_user:
        found.append("SANDBOX_USER is missing: SANDBOX=user needs a user of this machine to run commands as")
    if check is not None:
        found += check(settings)
    if found:
        # Keys get pasted into the wrong line.
        redact = Redactor(settings.secrets).redact
        raise ConfigError(*dict.fromkeys(map(redact, found)))
    return settings


class _Reader:
    """Reads one setting a call; a mistake is noted, and the default returned in its place."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.problems: list[str] = []

    def token(self, name: str) -> str:
        value = self.environ.get(name, "")
        if not value:
            self.problems.append(f"{name} is missing: set it to the token @BotFather gave you")
        elif not _TOKEN.fullmatch(value):
            self.problems.append(
                f"{name} is not a bot token: digits, a colon and 35 letters, without quotes or spaces"
            )
        return value

    def url(self, name: str, default: str) -> str:
        value = self.environ.get(name, default).rstrip("/")
        try:
            parts = urlsplit(value)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        # The value is not shown: a URL may hold a password.
        if not usable or parts.username or parts.query or parts.fragment:
            self.problems.append(f"{name} must look like 'https://host' or 'http://host:port', nothing more")
            return default
        if parts.path.endswith("/bot"):
            self.problems.append(f"{name} must end before '/bot': the method path is added to it")
        return value

    def ids(self, name: str) -> frozenset[int]:
        ids = set()
        for word in re.split(r"[\s,;]+", self.environ.get(name, "")):
            if re.fullmatch(r"-?[0-9]{1,16}", word) and int(word) != 0:
                ids.add(int(word))
            elif word:
                self.problems.append(
                    f"{name}: {word!r} is not an id; list numbers with commas, such as 1234567,-1001234567890"
                )
        return frozenset(ids)

    def admins(self, name: str) -> frozenset[int]:
        before = len(self.problems)
        ids = self.ids(name)
        for group in sorted(one for one in ids if one < 0):
            self.problems.append(f"{name}: {group} is a group; only people approve, groups go to ALLOWED_IDS")
        if not ids and len(self.problems) == before:
            self.problems.append(
                f"{name} is missing: set it to your Telegram user id, which @userinfobot tells you"
            )
        return frozenset(one for one in ids if one > 0)

    def model(self, name: str) -> str:
        value = self.environ.get(name, "")
        if not value:
            self.problems.append(
                f"{name} is missing: set it to provider:model, such as 'anthropic:claude-sonnet-5-5'"
            )
        elif not _MODEL.fullmatch(value):
            self.problems.append(
                f"{name}: {value!r} is not provider:model, such as 'anthropic:claude-sonnet-5-5'"
            )
            return ""
        return value

    def models(self, name: str) -> tuple[str, ...]:
        words = [word.strip() for word in self.environ.get(name, "").split(",") if word.strip()]
        for word in words:
            if not _MODEL.fullmatch(word):
                self.problems.append(f"{name}: {word!r} is not provider:model; separate several with commas")
        return tuple(word for word in words if _MODEL.fullmatch(word))

    def choice(self, name: str, choices: tuple[str, ...], *, default: str = "") -> str:
        value = self.environ.get(name, default or choices[0])
        for choice in choices:
            if value.lower() == choice.lower():
                return choice
        self.problems.append(f"{name}: {value!r} is not one of {', '.join(choices)}")
        return default or choices[0]

    def language(self, name: str) -> Language:
        value = self.environ.get(name, "en")
        languages: tuple[Language, ...] = get_args(Language)
        for locale in value.split(":"):
            code = re.split(r"[_.@-]", locale.lower())[0]
            for language in languages:
                if code == language:
                    return language
        # A machine that speaks German is no mistake of the operator's; `LANGUAGE=de` in .env is.
        if not is_locale(value):
            self.problems.append(f"{name}: {value!r} is not one of {', '.join(languages)}")
        return "en"

    def count(self, name: str, default: int, *, least: int) -> int:
        value = self.environ.get(name, str(default))
        if re.fullmatch(r"[0-9]{1,15}", value) and int(value) >= least:
            return int(value)
        self.problems.append(f"{name}: {value!r} is not a whole number of at least {least}")
        return default

    def amount(self, name: str, default: float) -> float:
        value = self.environ.get(name, str(default))
        try:
            amount = float(value)
        except ValueError:
            amount = math.nan
        if 0 < amount < math.inf:
            return amount
        self.problems.append(f"{name}: {value!r} is not a number above zero")
        return default

    def path(self, name: str, default: Path) -> Path:
        value = self.environ.get(name)
        if value is None:
            return default
        try:
            return Path(value).expanduser().absolute()
        except RuntimeError:  # `~someone` who does not exist
            self.problems.append(f"{name}: {value!r} names a home folder that does not exist")
            return default

    def folder(self, name: str, default: Path) -> Path:
        path = self.path(name, default)
        if not path.is_dir():
            self.problems.append(f"{name}: {str(path)!r} is not a folder; make it, or set {name} to one")
        return path

    def file(self, name: str, default: Path) -> Path:
        path = self.path(name, default)
        try:
            path.read_bytes()
        except OSError as exc:
            self.problems.append(f"{name}: {str(path)!r} cannot be read: {exc.strerror}")
        return path


def find_state_dir(environ: Mapping[str, str]) -> Path:
    """Return the state folder, absolute, for what needs no other setting; wrong ones are not looked at."""
    read = _Reader({name: value.strip() for name, value in environ.items() if value.strip()})
    home = Path(read.environ.get("HOME") or Path.home())
    return read.path("STATE_DIR", _default_state_dir(read.environ, home))


def _default_state_dir(environ: Mapping[str, str], home: Path) -> Path:
    # systemd writes a colon-separated list when the unit names several folders; ours is the first.
    if given := environ.get("STATE_DIRECTORY", "").split(":")[0]:
        return Path(given)
    # The standard tells to ignore a relative path: https://specifications.freedesktop.org/basedir-spec/latest/
    xdg = Path(environ.get("XDG_STATE_HOME", ""))
    return (xdg if xdg.is_absolute() else home / ".local" / "state") / "kai-bot"


def _secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    # A word as short as "enabled" under such a name is a switch; hiding it everywhere would garble output.
    return tuple(sorted({v for name, v in environ.items() if names_a_secret(name) and len(v) >= 8}))


def _misspelt(environ: Mapping[str, str], settings: Collection[str]) -> list[str]:
    """Find names like a setting's, where that setting itself is absent."""
    absent = [name for name in settings if name not in environ]
    problems = []
    for name in environ:
        if name in settings or _PROVIDER_SETTING.fullmatch(name):
            continue
        meant = OTHER_NAMES.get(name) or next((s for s in absent if _one_slip_apart(name.upper(), s)), None)
        if meant in absent:
            problems.append(
                f"{name} is not a setting; did you mean {meant}? (set {meant} as well if {name} is another's)"
            )
    return problems


def _one_slip_apart(name: str, other: str) -> bool:
    """Whether one letter more, less, other or swapped, or underscores, tell the two apart."""
    name, other = name.replace("_", ""), other.replace("_", "")
    if abs(len(name) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(name), len(other)) and name[start] == other[start]:
        start += 1
    a, b = name[start:], other[start:]
    return a == b or a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
