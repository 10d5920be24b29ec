"""Neither extra costs anything until a tool needs it."""

import subprocess
import sys
from pathlib import Path

HEAVY = ("eth_account", "eth_utils", "solders", "oauthlib", "twitter_text")
ROOT = Path(__file__).parents[3]


def test_nothing_of_the_extras_is_imported_at_start() -> None:
    code = (
        "import bot.app, bot.tools.transfer_wallet, bot.tools.post_twitter, bot.wallet_cli;"
        "bot.tools.wallet.WalletSettings.read({'BASE_RPC_URLS': 'https://x.example'})"
    )

    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "bot.tools.wallet.evm" in imported
    assert [name for name in sorted(imported) if name.split(".")[0] in HEAVY] == []
