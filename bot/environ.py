"""Where settings come from: the environment, credential files, an env file."""

import re
from collections.abc import Mapping
from pathlib import Path

from bot.redact import names_a_secret


def load_environ(env_file: Path, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Lay an env file and the credential files under the environment.

    The environment wins over a credential file in `$CREDENTIALS_DIRECTORY` (`telegram_bot_token`,
    `<provider>_api_key`, …: the setting's name in lower case), which wins over `env_file`. An empty value
    counts as absent. `LANGUAGE` is gettext's name too: where the environment holds a list of locales, the
    file wins.

    Args:
        env_file: Read by python-dotenv, without `$` expansion, as systemd's `EnvironmentFile=` does. May be
            missing.

    Returns:
        The merged mapping and what was wrong, for `bot.config.load_settings`.
    """
    filed, problems = _read_env_file(env_file)
    given = {name: value for name, value in environ.items() if value.strip()}
    if "LANGUAGE" in filed and is_locale(given.get("LANGUAGE", "")):
        del given["LANGUAGE"]
    credentials, unreadable = _read_credentials(environ.get("CREDENTIALS_DIRECTORY", ""))
    return filed | credentials | given, problems + unreadable


def env_file_warnings(env_file: Path) -> list[str]:
    """Say whether other users of this machine can read the file; nothing when it is missing."""
    try:
        mode = env_file.stat().st_mode & 0o777
    except OSError:
        return []
    if mode & 0o077 == 0:
        return []
    return [f"{str(env_file)!r} can be read by others (mode {mode:04o}); run: chmod 600 {env_file}"]


def is_locale(value: str) -> bool:
    """Whether a value of `LANGUAGE` was set for gettext: `de_DE:en`, `C`, …"""
    return re.search(r"[_:.@]|\A(C|POSIX)\Z", value) is not None


def _read_env_file(env_file: Path) -> tuple[dict[str, str], list[str]]:
    values: dict[str, str] = {}
    problems: list[str] = []
    if not env_file.exists():
        return values, problems
    from dotenv.parser import parse_stream  # 25 ms, and not needed under systemd

    try:
        # utf-8-sig: some editors begin a file with a mark that would become part of the first name.
        with env_file.open(encoding="utf-8-sig") as stream:
            for binding in parse_stream(stream):
                # A binding begins with the blank lines before it.
                read = binding.original.string
                blank = read[: len(read) - len(read.lstrip())].count("\n")
                where = f"{str(env_file)!r}, line {binding.original.line + blank}"
                if binding.error or (binding.key is not None and binding.value is None):
                    problems.append(f"{where}: not NAME=value")
                elif binding.key is None or not (binding.value or "").strip():
                    continue
                elif binding.key in values:
                    problems.append(f"{where}: {binding.key} is set a second time; keep one")
                else:
                    values[binding.key] = binding.value or ""
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        return {}, [f"{str(env_file)!r} cannot be read: {reason}"]
    return values, problems


def _read_credentials(folder: str) -> tuple[dict[str, str], list[str]]:
    # Source: https://systemd.io/CREDENTIALS/
    values: dict[str, str] = {}
    problems: list[str] = []
    if not folder:
        return values, problems
    for name in (name for name in _files_in(Path(folder)) if names_a_secret(name)):
        try:
            value = (Path(folder) / name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            problems.append(f"credential {name!r} cannot be read: {type(exc).__name__}")
            continue
        if value:
            values[name.upper()] = value
    return values, problems


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError:
        return []
