"""`.env` is read by python-dotenv, a real variable wins, credentials are files."""

from pathlib import Path

from bot.environ import env_file_warnings, load_environ


def env_file(folder: Path, text: str) -> Path:
    path = folder / ".env"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    path = env_file(tmp_path, "MAX_STEPS=3\nLOG_LEVEL=DEBUG\n")

    environ, problems = load_environ(path, {"MAX_STEPS": "5"})

    assert environ == {"MAX_STEPS": "5", "LOG_LEVEL": "DEBUG"}
    assert problems == []


def test_an_empty_variable_does_not_hide_the_file(tmp_path: Path) -> None:
    path = env_file(tmp_path, "MAX_STEPS=3\n")

    environ, _ = load_environ(path, {"MAX_STEPS": " "})

    assert environ["MAX_STEPS"] == "3"


def test_a_missing_file_is_no_mistake(tmp_path: Path) -> None:
    assert load_environ(tmp_path / ".env", {"A": "1"}) == ({"A": "1"}, [])


def test_quotes_comments_export_and_a_byte_order_mark_are_understood(tmp_path: Path) -> None:
    path = env_file(tmp_path, "\ufeffA='1 2'\n# no\nexport B=\"3\" # three\n")

    environ, problems = load_environ(path, {})

    assert environ == {"A": "1 2", "B": "3"}
    assert problems == []


def test_a_dollar_in_a_value_stays(tmp_path: Path) -> None:
    path = env_file(tmp_path, "A=pa${HOME}ss$1\n")

    environ, _ = load_environ(path, {"HOME": "/root"})

    assert environ["A"] == "pa${HOME}ss$1"


def test_lines_that_set_nothing_are_reported_without_their_text(tmp_path: Path) -> None:
    path = env_file(tmp_path, "A=1\n\nmy-secret words\nB\n")

    _, problems = load_environ(path, {})

    assert [problem.split(", line ")[1] for problem in problems] == ["3: not NAME=value", "4: not NAME=value"]
    assert "my-secret" not in " ".join(problems)


def test_a_setting_twice_in_the_file_is_reported(tmp_path: Path) -> None:
    path = env_file(tmp_path, "ADMIN_IDS=1\nADMIN_IDS=2\n")

    environ, [problem] = load_environ(path, {})

    assert problem.endswith("line 2: ADMIN_IDS is set a second time; keep one")
    assert environ["ADMIN_IDS"] == "1"


def test_a_file_that_is_no_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"A=\xff\xfe\n")

    environ, [problem] = load_environ(path, {})

    assert problem == f"{str(path)!r} cannot be read: it is not UTF-8 text"
    assert environ == {}


def test_a_folder_in_the_files_place_is_reported(tmp_path: Path) -> None:
    _, [problem] = load_environ(tmp_path, {})

    assert problem == f"{str(tmp_path)!r} cannot be read: Is a directory"


def test_a_machines_locale_does_not_override_the_chosen_language(tmp_path: Path) -> None:
    path = env_file(tmp_path, "LANGUAGE=id\n")

    environ, _ = load_environ(path, {"LANGUAGE": "en_US:en"})

    assert environ["LANGUAGE"] == "id"


def test_a_language_given_on_purpose_wins(tmp_path: Path) -> None:
    path = env_file(tmp_path, "LANGUAGE=id\n")

    environ, _ = load_environ(path, {"LANGUAGE": "pt"})

    assert environ["LANGUAGE"] == "pt"


def test_credential_files_stand_between_the_environment_and_the_file(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "telegram_bot_token").write_text("from-credential\n")
    (credentials / "openai_api_key").write_text("from-credential\n")
    (credentials / "wallet.json").write_bytes(b"\xff")
    path = env_file(tmp_path, "TELEGRAM_BOT_TOKEN=from-file\n")
    given = {"CREDENTIALS_DIRECTORY": str(credentials), "OPENAI_API_KEY": "from-environment"}

    environ, problems = load_environ(path, given)

    assert environ == given | {"TELEGRAM_BOT_TOKEN": "from-credential"}
    assert problems == []


def test_a_credential_that_is_no_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "openai_api_key").write_bytes(b"\xff")

    _, [problem] = load_environ(tmp_path / ".env", {"CREDENTIALS_DIRECTORY": str(tmp_path)})

    assert problem == "credential 'openai_api_key' cannot be read: UnicodeDecodeError"


def test_a_file_others_can_read_is_warned_of(tmp_path: Path) -> None:
    path = env_file(tmp_path, "A=1\n")
    path.chmod(0o640)

    [warning] = env_file_warnings(path)

    assert "mode 0640" in warning
    assert f"chmod 600 {path}" in warning


def test_a_private_or_missing_file_is_not_warned_of(tmp_path: Path) -> None:
    path = env_file(tmp_path, "A=1\n")
    path.chmod(0o600)

    assert env_file_warnings(path) == []
    assert env_file_warnings(tmp_path / "missing") == []
