"""Requirement T1, and: one error lists every mistake and shows no secret."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.config import SETTINGS, Settings, load_settings
from bot.errors import ConfigError
from bot.tools.settings import tool_setting_names

TOKEN = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
LEAST = {"TELEGRAM_BOT_TOKEN": TOKEN, "ADMIN_IDS": "42", "LLM_MODEL": "openai:gpt-5"}


def problems(environ: Mapping[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_settings(environ)
    return caught.value.problems


def settings(**changed: str) -> Settings:
    return load_settings(LEAST | changed)


def test_three_settings_are_enough(tmp_path: Path) -> None:
    read = load_settings(LEAST | {"HOME": str(tmp_path)})

    assert read.telegram_bot_token == TOKEN
    assert read.telegram_api_url == "https://api.telegram.org"
    assert read.admin_ids == {42}
    assert read.allowed_ids == frozenset()
    assert (read.llm_model, read.llm_fallbacks, read.llm_tools) == ("openai:gpt-5", (), "auto")
    assert read.state_dir == tmp_path / ".local/state/kai-bot"
    assert read.work_dir == tmp_path
    assert (read.sandbox, read.sandbox_user) == ("off", "")
    assert (read.max_steps, read.tool_timeout, read.result_chars) == (12, 120, 2000)
    assert (read.approval_ttl, read.turn_timeout, read.send_rate) == (1800, 1800, 30)
    assert (read.turn_tokens, read.daily_tokens) == (1_000_000, None)
    assert (read.language, read.log_level, read.log_format) == ("en", "INFO", "text")


def test_every_setting_is_read(tmp_path: Path) -> None:
    soul = tmp_path / "soul.md"
    soul.write_text("Be brief.")

    read = settings(
        TELEGRAM_API_URL="http://localhost:8081/",
        ADMIN_IDS="42, 43",
        ALLOWED_IDS="44 -1001234567890",
        LLM_MODEL="ollama:qwen3:8b",
        LLM_FALLBACKS="openai:gpt-5, custom:x/y:free",
        LLM_TOOLS="Text",
        STATE_DIR=str(tmp_path / "state"),
        WORK_DIR=str(tmp_path),
        SOUL_FILE=str(soul),
        MAX_STEPS="3",
        SANDBOX="user",
        SANDBOX_USER="nobody",
        TOOL_TIMEOUT="1.5",
        RESULT_CHARS="500",
        APPROVAL_TTL="60",
        TURN_TIMEOUT="90",
        TURN_TOKENS="0",
        DAILY_TOKENS="5000",
        SEND_RATE="10",
        LANGUAGE="id",
        LOG_LEVEL="debug",
        LOG_FORMAT="json",
    )

    assert read.telegram_api_url == "http://localhost:8081"
    assert read.admin_ids == {42, 43}
    assert read.allowed_ids == {44, -1001234567890}
    assert (read.llm_model, read.llm_tools) == ("ollama:qwen3:8b", "text")
    assert read.llm_fallbacks == ("openai:gpt-5", "custom:x/y:free")
    assert (read.state_dir, read.work_dir, read.soul_file) == (tmp_path / "state", tmp_path, soul)
    assert (read.sandbox, read.sandbox_user) == ("user", "nobody")
    assert (read.max_steps, read.tool_timeout, read.result_chars) == (3, 1.5, 500)
    assert (read.approval_ttl, read.turn_timeout, read.send_rate) == (60, 90, 10)
    assert (read.turn_tokens, read.daily_tokens) == (None, 5000)
    assert (read.language, read.log_level, read.log_format) == ("id", "DEBUG", "json")


@pytest.mark.parametrize(
    ("environ", "stream"), [({}, "on"), ({"STREAM": "on"}, "on"), ({"STREAM": "Off"}, "off")]
)
def test_answers_are_shown_while_they_are_written_unless_that_is_off(
    environ: dict[str, str], stream: str
) -> None:
    assert load_settings(LEAST | environ).stream == stream


def test_every_setting_has_a_field_of_its_name() -> None:
    assert {name.lower() for name in SETTINGS} == {*Settings.__dataclass_fields__} - {"secrets"}


def test_one_error_names_what_is_missing() -> None:
    found = problems({})

    assert [problem.split()[0] for problem in found] == ["TELEGRAM_BOT_TOKEN", "ADMIN_IDS", "LLM_MODEL"]


def test_one_error_names_every_mistake_each_once(tmp_path: Path) -> None:
    wrong = {
        "TELEGRAM_API_URL": "api.telegram.org",
        "ALLOWED_IDS": "@kai",
        "LLM_MODEL": "gpt-5",
        "LLM_FALLBACKS": "openai:gpt-5, gpt-4",
        "LLM_TOOLS": "yes",
        "STATE_DIR": "~nobody-of-this-name/x",
        "WORK_DIR": str(tmp_path / "missing"),
        "SOUL_FILE": str(tmp_path / "missing.md"),
        "MAX_STEPS": "0",
        "SANDBOX": "on",
        "TOOL_TIMEOUT": "nan",
        "RESULT_CHARS": "2e3",
        "APPROVAL_TTL": "-1",
        "TURN_TIMEOUT": "inf",
        "TURN_TOKENS": "-1",
        "DAILY_TOKENS": "many",
        "SEND_RATE": "0",
        "LANGUAGE": "fr",
        "LOG_LEVEL": "loud",
        "LOG_FORMAT": "xml",
    }

    found = problems(LEAST | wrong)

    assert sorted(problem.split()[0].rstrip(":") for problem in found) == sorted(wrong)


def test_confining_to_another_user_needs_that_user() -> None:
    [problem] = problems(LEAST | {"SANDBOX": "user"})

    assert problem.startswith("SANDBOX_USER is missing")


@pytest.mark.parametrize("token", ["x", "123456789", TOKEN[:20], f'"{TOKEN}"', TOKEN + " # mine"])
def test_a_wrong_token_is_named_but_not_shown(token: str) -> None:
    [problem] = problems(LEAST | {"TELEGRAM_BOT_TOKEN": token})

    assert problem.startswith("TELEGRAM_BOT_TOKEN is not a bot token")
    assert token[:12] not in problem or len(token) < 12


def test_a_secret_in_the_wrong_line_is_not_shown() -> None:
    key = "sk-" + "live0123456789abcdefXYZ"

    text = " ".join(problems(LEAST | {"LLM_MODEL": key, "ADMIN_IDS": TOKEN, "OPENAI_API_KEY": "pa55-phrase"}))

    assert key not in text
    assert TOKEN not in text


def test_the_settings_do_not_print_a_secret() -> None:
    text = repr(settings(OPENAI_API_KEY="pa55-phrase"))

    assert TOKEN not in text
    assert "pa55-phrase" not in text


def test_t1_no_admin_is_refused() -> None:
    found = problems(LEAST | {"ADMIN_IDS": " , "})

    assert [problem.split()[0] for problem in found] == ["ADMIN_IDS"]


def test_a_group_can_not_approve() -> None:
    [problem] = problems(LEAST | {"ADMIN_IDS": "42,-1001234567890"})

    assert "-1001234567890 is a group" in problem


@pytest.mark.parametrize("ids", ["4.2", "0", "12345678901234567", "٤٢"])
def test_only_telegrams_numbers_are_ids(ids: str) -> None:
    [problem] = problems(LEAST | {"ALLOWED_IDS": ids})

    assert problem.startswith(f"ALLOWED_IDS: {ids!r} is not an id")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "https://",
        "https://me:pass@host",
        "http://host:99999",
        "https://host?x=1",
        "http://host/bot",
    ],
)
def test_only_a_plain_address_is_an_api_url(url: str) -> None:
    [problem] = problems(LEAST | {"TELEGRAM_API_URL": url})

    assert problem.startswith("TELEGRAM_API_URL must")
    assert "pass" not in problem


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("pt_BR:pt:en", "pt"),
        ("en_US:en", "en"),
        ("de_DE:id", "id"),
        ("de_DE.UTF-8", "en"),
        ("ID", "id"),
        ("C", "en"),
    ],
)
def test_gettexts_language_list_is_understood(written: str, read: str) -> None:
    assert settings(LANGUAGE=written).language == read


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"STATE_DIRECTORY": "/var/lib/kai-bot"}, "/var/lib/kai-bot"),
        ({"STATE_DIRECTORY": "/var/lib/kai-bot:/var/lib/other"}, "/var/lib/kai-bot"),
        ({"XDG_STATE_HOME": "/x"}, "/x/kai-bot"),
        ({"XDG_STATE_HOME": "relative"}, "/tmp/.local/state/kai-bot"),
        ({"STATE_DIRECTORY": "/var/lib/kai-bot", "STATE_DIR": "/mine"}, "/mine"),
    ],
)
def test_the_state_folder_is_found_in_order(environ: dict[str, str], expected: str) -> None:
    assert settings(HOME="/tmp", **environ).state_dir == Path(expected)


def test_the_soul_is_found_without_a_setting() -> None:
    text = settings().soul_file.read_text(encoding="utf-8")

    assert text.startswith("# Kai")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ADMIN_ID", "ADMIN_IDS"),
        ("admin_ids", "ADMIN_IDS"),
        ("ADMIN_ISD", "ADMIN_IDS"),
        ("BOT_TOKEN", "TELEGRAM_BOT_TOKEN"),
        ("MAX_STEP", "MAX_STEPS"),
        ("MAX_AGENTIC_STEPS", "MAX_STEPS"),
        ("WORKDIR", "WORK_DIR"),
        ("TOOL_TIMEOT", "TOOL_TIMEOUT"),
    ],
)
def test_a_name_like_a_settings_is_reported(written: str, meant: str) -> None:
    environ = {name: value for name, value in LEAST.items() if name != meant}

    found = problems(environ | {written: "7"})

    assert any(problem.startswith(f"{written} is not a setting; did you mean {meant}?") for problem in found)


def test_a_like_name_beside_the_right_one_is_somebody_elses() -> None:
    read = settings(ADMIN_ID="7", BOT_TOKEN="other")

    assert read.admin_ids == {42}


def test_what_a_machine_always_has_is_no_slip(tmp_path: Path) -> None:
    usual = (
        "PATH LANG LC_ALL LOGNAME USER SHELL TERM PWD OLDPWD HOSTNAME SHLVL EDITOR TMPDIR MAIL DISPLAY "
        "JOURNAL_STREAM INVOCATION_ID STATE_DIRECTORY CREDENTIALS_DIRECTORY NOTIFY_SOCKET WATCHDOG_USEC "
        "XDG_STATE_HOME XDG_RUNTIME_DIR SSH_AUTH_SOCK VIRTUAL_ENV DEBIAN_FRONTEND OPENAI_API_KEY HTTP_PROXY"
    )

    read = settings(**dict.fromkeys(usual.split(), str(tmp_path)))

    assert read.admin_ids == {42}


def test_problems_of_other_layers_join_the_one_error() -> None:
    def check(draft: Settings) -> list[str]:
        return [f"OPENAI_API_KEY is missing for {draft.llm_model}"]

    with pytest.raises(ConfigError) as caught:
        load_settings(LEAST | {"MAX_STEPS": "x"}, problems=["line 3: not NAME=value"], check=check)

    assert caught.value.problems == (
        "line 3: not NAME=value",
        "MAX_STEPS: 'x' is not a whole number of at least 1",
        "OPENAI_API_KEY is missing for openai:gpt-5",
    )


def test_secrets_are_gathered_by_name() -> None:
    read = settings(
        OPENAI_API_KEY="pa55-phrase", DB_PASSWORD="hunter22", X_TOKEN="enabled", EDITOR="emacs-nox"
    )

    assert set(read.secrets) == {TOKEN, "pa55-phrase", "hunter22"}


def test_a_slip_in_a_setting_that_is_read_elsewhere_is_found_too() -> None:
    with pytest.raises(ConfigError) as raised:
        load_settings(
            LEAST | {"BASE_RPC_URL": "http://x", "WALLET_MAX_DAY": "ETH=1"}, others=tool_setting_names()
        )

    [problem] = raised.value.problems
    assert problem.startswith("BASE_RPC_URL is not a setting; did you mean BASE_RPC_URLS?")
