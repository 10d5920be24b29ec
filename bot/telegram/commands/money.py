"""Commands about money: what may be sent, and what was."""

from typing import TYPE_CHECKING

from bot.telegram.commands.row import Asked
from bot.texts import say

if TYPE_CHECKING:
    from bot.telegram.face import TelegramFace

TRANSFERS, MOST_TRANSFERS = 5, 20


async def limits(face: "TelegramFace", asked: Asked) -> str:
    wallet = face.desk.wallet
    return await wallet.limits() if wallet else say(face.language, "no_wallet")


async def transfers(face: "TelegramFace", asked: Asked) -> str:
    wallet, word = face.desk.wallet, asked.command.argument
    if wallet is None:
        return say(face.language, "no_wallet")
    count = min(max(int(word), 1), MOST_TRANSFERS) if word.isascii() and word.isdigit() else TRANSFERS
    return await wallet.transfers(count)
