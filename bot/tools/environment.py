"""The environment a command gets: the operator's, less what is ours to keep (design.md, invariant 11)."""

import re
from collections.abc import Collection, Mapping

from bot.redact import names_a_secret

_PRIVATE = re.compile(
    r".*(?:CREDENTIAL|SECRET|TOKEN|PASSWORD).*|(?:.*_)?(?:KEY|PASS|PWD|AUTH|PAT|DSN|COOKIE|BASE_URL)"
)
"""What `names_a_secret` is too careful to call one: a command can do without it."""
_SERVICE = re.compile(
    # What systemd says to the bot alone: a child that answers for it could keep a hung bot "alive".
    r"(NOTIFY_SOCKET|WATCHDOG_.*|LISTEN_.*|INVOCATION_ID|JOURNAL_STREAM|MAINPID|SYSTEMD_EXEC_PID"
    r"|(STATE|CACHE|LOGS|RUNTIME|CONFIGURATION)_DIRECTORY)"
)
_SHELL = re.compile(r"BASH_ENV|ENV|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|BASH_XTRACEFD|PS4|BASH_FUNC_.*")
"""What would make bash run or print something other than the command that was read."""
_KEPT = frozenset({"PWD", "OLDPWD"})

UNATTENDED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "SYSTEMD_PAGER": "",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "false",
    "VISUAL": "false",
}
"""Nobody sits at this terminal: nothing may page, prompt or open an editor."""


def scrub(environment: Mapping[str, str], settings: Collection[str] = ()) -> dict[str, str]:
    """Return the environment for commands.

    Args:
        environment: The bot's own.
        settings: Names of the bot's settings, `bot.config.SETTINGS`; none is a command's business.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name in _KEPT
        or not (
            name in settings
            or names_a_secret(name)
            or _PRIVATE.fullmatch(name.upper())
            or _SERVICE.fullmatch(name)
            or _SHELL.fullmatch(name)
        )
    }
    kept.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    kept.setdefault("LANG", "C.UTF-8")
    return kept | UNATTENDED
