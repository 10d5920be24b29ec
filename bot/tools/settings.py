"""Settings that tools read for themselves; `bot.config` knows none of them."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from bot.tools.credentials import Credentials
from bot.tools.post_twitter import FILE, x_api_url
from bot.tools.wallet import WalletSettings, setting_names


def tool_setting_names() -> tuple[str, ...]:
    """Return the names of all of them: a slip in one is found, and commands see none."""
    return (*setting_names(), "X_API_URL")


def tool_problems(environ: Mapping[str, str], state_dir: Path) -> list[str]:
    """Return one sentence a mistake in them, also when what a tool needs is not installed; no secrets."""
    wallet, problems = WalletSettings.read(environ, state_dir=state_dir)
    problems = [*problems, *x_api_url(environ)[1]]
    if wallet.on and not (find_spec("eth_account") and find_spec("solders")):
        problems.append("transfer_wallet needs more packages: pip install 'kai-bot[wallet]'")
    if posts_on(Credentials(wallet.credentials_dir)) and not (
        find_spec("oauthlib") and find_spec("twitter_text")
    ):
        problems.append("post_twitter needs more packages: pip install 'kai-bot[x]'")
    return problems


def posts_on(credentials: Credentials) -> bool:
    """Whether there are credentials to post with: without, the tool need not be offered."""
    return (credentials.folder / FILE).exists()
