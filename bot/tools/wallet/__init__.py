"""Sending money: what may be sent, to whom, and never twice.

`Wallet` joins the parts; a chain's own ways are in `evm` and `solana`, what holds on all in `transfers`.
"""

from bot.tools.wallet.chains import CHAINS_FILE, Chain, Token, load_chains
from bot.tools.wallet.settings import WalletSettings, setting_names
from bot.tools.wallet.transfers import Asked, Tell, Wallet, outcome_of

__all__ = [
    "Asked",
    "CHAINS_FILE",
    "Chain",
    "Tell",
    "Token",
    "Wallet",
    "WalletSettings",
    "load_chains",
    "outcome_of",
    "setting_names",
]
