"""X6, invariant 11: what a command sees of the bot's environment."""

import pytest

from bot.tools.environment import scrub

SECRET = [
    *(
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "GH_TOKEN_FILE",
        "DB_PASSWORD",
        "PGPASSWORD",
    ),
    *("telegram_bot_token", "MY_SECRET", "WALLET_PASSPHRASE", "SMTP_PASS", "DEPLOY_KEY", "SENTRY_DSN"),
    *("CREDENTIALS_DIRECTORY", "GOOGLE_APPLICATION_CREDENTIALS", "OPENAI_BASE_URL"),
]
SERVICE = [
    *("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "INVOCATION_ID"),
    "STATE_DIRECTORY",
]
SHELL = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "PS4", "BASH_FUNC_ls%%"]


@pytest.mark.parametrize("name", SECRET + SERVICE + SHELL)
def test_what_is_ours_does_not_reach_a_command(name: str) -> None:
    assert name not in scrub({name: "x"})


@pytest.mark.parametrize("name", ["ADMIN_IDS", "LLM_MODEL"])
def test_settings_do_not_reach_a_command(name: str) -> None:
    assert name not in scrub({name: "x"}, ["ADMIN_IDS", "LLM_MODEL"])


@pytest.mark.parametrize("name", ["HOME", "USER", "PWD", "LC_ALL", "XDG_RUNTIME_DIR", "KEYBOARD", "MONKEY"])
def test_what_a_command_needs_stays(name: str) -> None:
    assert scrub({name: "x"})[name] == "x"


def test_nothing_may_page_prompt_or_edit() -> None:
    environment = scrub({"TERM": "xterm", "PAGER": "less", "EDITOR": "vim"})

    assert environment["TERM"] == "dumb"
    assert environment["PAGER"] == environment["GIT_PAGER"] == "cat"
    assert environment["EDITOR"] == environment["VISUAL"] == "false"
    assert environment["SYSTEMD_PAGER"] == ""
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["DEBIAN_FRONTEND"] == "noninteractive"


def test_a_bare_service_still_finds_programs_and_speaks_utf_8() -> None:
    environment = scrub({})

    assert "/usr/bin" in environment["PATH"].split(":")
    assert environment["LANG"] == "C.UTF-8"
