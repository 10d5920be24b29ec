"""What tools read of the settings, and what is wrong with it."""

from pathlib import Path

from bot.tools.credentials import Credentials
from bot.tools.settings import posts_on, tool_problems, tool_setting_names
from tests.tools.wallet.town import write_credentials


def test_every_mistake_is_named_once(tmp_path: Path) -> None:
    wrong = {"BASE_RPC_URLS": "nowhere", "WALLET_MAX_DAY": "much", "X_API_URL": "ftp://x"}

    problems = tool_problems(wrong, tmp_path)

    assert sorted(problem.split(":")[0] for problem in problems) == sorted(wrong)
    assert wrong.keys() <= {*tool_setting_names()}


def test_right_settings_have_none(tmp_path: Path) -> None:
    write_credentials(tmp_path / "credentials", twitter="X_API_KEY=k")
    right = {"BASE_RPC_URLS": "https://x.example", "SOLANA_RPC_URLS": "http://127.0.0.1:1"}

    assert tool_problems(right, tmp_path) == []


def test_posts_are_on_where_their_keys_are(tmp_path: Path) -> None:
    assert not posts_on(Credentials(tmp_path))
    assert posts_on(write_credentials(tmp_path / "keys", twitter=""))
