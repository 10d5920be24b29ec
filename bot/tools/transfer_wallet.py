"""Sending money, as a tool. What it may do is in `bot.tools.wallet`; this is what the model sees."""

from typing import Annotated

from pydantic import Field

from bot.messages import Risk
from bot.tools.base import Tool, ToolContext, tool
from bot.tools.wallet import Asked, Wallet


def transfer_wallet(wallet: Wallet) -> Tool:
    @tool(risk_floor=Risk.HIGH, keeps_time=True)
    async def transfer_wallet(
        context: ToolContext,
        to_address: Annotated[
            str, "The recipient's whole address, exactly as given to you.", Field(min_length=1)
        ],
        amount: Annotated[str, "A decimal number as a string, such as '0.05'.", Field(min_length=1)],
        chain: Annotated[
            str,
            f"One of: {', '.join(wallet.chain_names)}.",
            Field(min_length=1),
        ],
        token: Annotated[
            str | None, "Symbol or contract of a token; left out for the chain's own coin."
        ] = None,
    ) -> str:
        """Send money from the bot's wallet. A person must approve each transfer; it is made once.

        Never call it again because an outcome is pending or unknown: it reports by itself.
        """
        return await wallet.transfer(context.call_id, Asked(to_address, amount, chain, token or ""))

    return transfer_wallet
