"""Ethereum and its kin: five JSON-RPC calls and a signature.

Methods and their answers: https://ethereum.github.io/execution-apis/
"""

import asyncio
import re
from typing import Any

import httpx

from bot.errors import ToolError
from bot.store.transfers import Transfer, TransferState
from bot.tools.credentials import Credentials
from bot.tools.wallet.addresses import bad_address, evm_address, refuse_nobodys
from bot.tools.wallet.amounts import show_amount
from bot.tools.wallet.chains import Chain, Token
from bot.tools.wallet.keys import evm_address_of, load_evm
from bot.tools.wallet.network import Fate, Order, Signed, Simulation
from bot.tools.wallet.rpc import Node, Nodes, RpcError, Unasked

TRANSFER = "a9059cbb"
BALANCE_OF = "70a08231"
DECIMALS = "313ce567"
SYMBOL = "95d89b41"
"""Selectors of https://eips.ethereum.org/EIPS/eip-20"""

GET_L1_FEE = "49948e0e"
L1_FEE_ORACLE = "0x420000000000000000000000000000000000000F"
"""https://docs.optimism.io/op-stack/transactions/fees"""

PLAIN = 21_000
"""Gas of a transfer to a wallet; anything else is estimated, and given a fifth more."""

KNOWN = re.compile(r"already (?:known|imported|exists)|alreadyknown|\bknown transaction", re.IGNORECASE)
"""What nodes say to bytes they have: geth, anvil and reth, Nethermind, Besu."""

REFUSED = re.compile(
    r"insufficient ?funds|exceeds account balance|underpriced|fee ?too ?low|configured (?:cap|minimum)"
    r"|intrinsic gas|gas limit|gas required|base fee|max fee per gas|max priority fee|invalid sender"
    r"|chain.?id|signature|not supported|oversized|nonce too high",
    re.IGNORECASE,
)
"""What nodes say to bytes that they surely did not take: the lists of errors in geth's `core/error.go` and
`core/txpool/errors.go`, and how Nethermind and Besu word them. Whatever else a node says, "timed out" with
the same code for one, may be said of bytes that went on; "nonce too low" is said of our own, once mined."""

DELEGATED = "0xef0100"
"""How the code of a person's wallet begins that uses EIP-7702."""


class Evm:
    """One chain of Ethereum's kind.

    Args:
        urls: Nodes, in the order to try.
    """

    def __init__(
        self, chain: Chain, urls: tuple[str, ...], http: httpx.AsyncClient, credentials: Credentials
    ) -> None:
        self.chain = chain
        self._credentials = credentials

        async def identify(node: Node) -> str:
            return str(int(await node.ask("eth_chainId", []), 16))

        self._nodes = Nodes([Node(http, url) for url in urls], identify, chain.id, chain.rpc_setting)

    async def sender(self) -> str:
        return await asyncio.to_thread(evm_address_of, self._credentials)

    async def token(self, text: str) -> Token:
        token = self.chain.known_token(text)
        if token is None:
            if not text.startswith("0x"):
                known = ", ".join([self.chain.native.symbol, *self.chain.tokens])
                raise bad_address(
                    "token", f"unknown token {text!r} on {self.chain.name}; known: {known}, or its contract"
                )
            contract, _ = evm_address(text, "token")
            symbol = _string(await self._call(contract, SYMBOL)) or "?"
            token = Token(symbol, contract, await self._decimals(contract), known=False)
        elif token.contract and (said := await self._decimals(token.contract)) != token.decimals:
            raise ToolError(
                "EINVAL",
                f"{token.symbol} on {self.chain.name} says it has {said} decimals, not {token.decimals}:"
                " not sending by a wrong table",
            )
        return token

    def address(self, text: str) -> tuple[str, str]:
        address, warning = evm_address(text)
        refuse_nobodys(address)
        return address, warning

    async def simulate(self, order: Order) -> Simulation:
        """Dry-run the order by `eth_call` and `eth_estimateGas` at the sender's pending state."""
        balance, coins = await self._balances(order)
        if balance < order.units:
            raise not_enough(order, balance)
        call = _call_of(order)
        try:
            returned = await self._nodes.ask("eth_call", call, "pending")
            gas = await self._gas(order)
        except RpcError as error:
            raise ToolError("EINVAL", f"the dry run fails: {_reason(error)}") from None
        if order.token.contract and returned not in ("0x", None) and int(returned, 16) != 1:
            raise ToolError("EINVAL", "the dry run fails: the token refuses the transfer")
        base, tip = await self._fees()
        l1_fee = await self._l1_fee(order)
        ceiling = _rounded_up(gas * (2 * base + tip) + 2 * l1_fee)
        needed = gas * (base + base // 8 + tip) + l1_fee
        spent = ceiling if order.token.contract else order.units + ceiling
        if coins < spent:
            raise ToolError(
                "EINVAL",
                f"insufficient funds: with fees up to {self._coins(ceiling)} it takes {self._coins(spent)},"
                f" the wallet has {self._coins(coins)}",
            )
        code = await self._nodes.ask("eth_getCode", order.recipient, "latest")
        is_contract = code not in ("0x", None) and not code.startswith(DELEGATED)
        return Simulation(
            balance=balance,
            coins=coins,
            fee_needed=needed,
            fee_ceiling=ceiling,
            facts=("contract" if is_contract else "wallet",),
            warnings=("the recipient is a contract, not somebody's wallet",) if is_contract else (),
        )

    async def sign(self, order: Order, *, fee_ceiling: int, first_nonce: int, salt: str) -> Signed:
        self._nodes.distrust()
        gas = await self._gas(order)
        base, tip = await self._fees()
        l1_fee = await self._l1_fee(order)
        max_fee = (fee_ceiling - l1_fee) // gas
        if max_fee < base + tip:
            raise ToolError(
                "EINVAL",
                f"fees rose: {self._coins(gas * (base + tip) + l1_fee)} now,"
                f" at most {self._coins(fee_ceiling)} was agreed to",
            )
        nonce = max(await self._nonce(order.sender, "pending"), first_nonce)
        call = _call_of(order)
        transaction: dict[str, Any] = {
            "type": 2,
            "chainId": int(self.chain.id),
            "nonce": nonce,
            "to": call["to"],
            "value": int(call["value"], 16),
            "data": call["data"],
            "gas": gas,
            "maxFeePerGas": max_fee,
            "maxPriorityFeePerGas": min(tip, max_fee),
        }
        # The key lives in this call's thread alone.
        signed = await asyncio.to_thread(lambda: load_evm(self._credentials).sign_transaction(transaction))
        return Signed(bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex(), nonce)

    async def broadcast(self, transfer: Transfer, *, first: bool) -> Fate:
        assert transfer.raw is not None
        answers = await self._nodes.ask_each("eth_sendRawTransaction", "0x" + transfer.raw.hex())
        if any(isinstance(answer, str) or _knows(answer) for answer in answers):
            return Fate(TransferState.SENT)
        # Also for "nonce too low": that is said of our own bytes, once mined, and of somebody else's.
        fate = await self.look_up(transfer)
        if fate.state is not TransferState.UNKNOWN:
            return fate
        refused = all(map(_refuses, answers))
        state = TransferState.FAILED if first and refused else TransferState.UNKNOWN
        return Fate(state, f"not taken by any node: {answers[0]}")

    async def look_up(self, transfer: Transfer) -> Fate:
        assert transfer.nonce is not None
        # The count before the receipt: a block between the two questions must not look like a replacement.
        counts = await self._nodes.ask_each("eth_getTransactionCount", transfer.sender, "latest")
        receipts = await self._nodes.ask_each("eth_getTransactionReceipt", transfer.tx_hash)
        for receipt in receipts:
            if isinstance(receipt, dict) and receipt.get("blockNumber"):
                fee = int(receipt["gasUsed"], 16) * int(receipt.get("effectiveGasPrice", "0x0"), 16)
                fee += int(receipt.get("l1Fee") or "0x0", 16)
                worked = int(receipt["status"], 16) == 1
                return Fate(
                    TransferState.MINED if worked else TransferState.FAILED,
                    "" if worked else "it was mined and reverted: nothing was paid but the fee",
                    int(receipt["blockNumber"], 16),
                    fee,
                    doubtful=not worked,
                )
        for found in await self._nodes.ask_each("eth_getTransactionByHash", transfer.tx_hash):
            if isinstance(found, dict):
                return Fate(TransferState.SENT)
        # Of the nodes that answer: one that is gone for good must not keep the place for ever.
        answered = [
            int(count, 16) > transfer.nonce
            for count, receipt in zip(counts, receipts, strict=True)
            if isinstance(count, str) and receipt is None
        ]
        if answered and all(answered):
            return Fate(
                TransferState.FAILED,
                f"replaced: another transaction used its place (nonce {transfer.nonce})",
                doubtful=True,
            )
        return Fate(TransferState.UNKNOWN, "no node knows it")

    async def _balances(self, order: Order) -> tuple[int, int]:
        coins = int(await self._nodes.ask("eth_getBalance", order.sender, "pending"), 16)
        if not order.token.contract:
            return coins, coins
        balance = await self._call(order.token.contract, BALANCE_OF + _word(order.sender), "pending")
        return _number(balance), coins

    async def _gas(self, order: Order) -> int:
        estimate = int(await self._nodes.ask("eth_estimateGas", _call_of(order), "pending"), 16)
        return estimate if estimate == PLAIN else estimate + estimate // 5

    async def _fees(self) -> tuple[int, int]:
        """Return (base fee, tip) a gas, in wei."""
        block = await self._nodes.ask("eth_getBlockByNumber", "latest", False)
        base = int(block.get("baseFeePerGas") or "0x0", 16)
        try:
            tip = int(await self._nodes.ask("eth_maxPriorityFeePerGas"), 16)
        except ToolError:
            tip = max(0, int(await self._nodes.ask("eth_gasPrice"), 16) - base)
        return base, tip

    async def _l1_fee(self, order: Order) -> int:
        if not self.chain.l1_fee:
            return 0
        # As long as the signed bytes will be at most, and none of them zero: those would be cheaper.
        size = 180 + len(_call_of(order)["data"]) // 2
        data = GET_L1_FEE + f"{32:064x}{size:064x}" + "ff" * size + "00" * (-size % 32)
        return _number(await self._call(L1_FEE_ORACLE, data))

    async def _nonce(self, address: str, block: str) -> int:
        return int(await self._nodes.ask("eth_getTransactionCount", address, block), 16)

    async def _decimals(self, contract: str) -> int:
        decimals = _number(await self._call(contract, DECIMALS))
        if not 0 <= decimals <= 77:
            raise bad_address("token", f"{contract!r} is no token: it has {decimals} decimals")
        return decimals

    async def _call(self, contract: str, data: str, block: str = "latest") -> str:
        try:
            answer = await self._nodes.ask("eth_call", {"to": contract, "data": "0x" + data}, block)
        except RpcError as error:
            raise bad_address("token", f"{contract!r} is no token: {_reason(error)}") from None
        if not isinstance(answer, str) or answer == "0x":
            raise bad_address("token", f"there is no token at {contract!r} on {self.chain.name}")
        return answer

    def _coins(self, units: int) -> str:
        return f"{show_amount(units, self.chain.native.decimals)} {self.chain.native.symbol}"


def not_enough(order: Order, balance: int) -> ToolError:
    have, need = (show_amount(units, order.token.decimals) for units in (balance, order.units))
    symbol = order.token.symbol
    return ToolError(
        "EINVAL", f"insufficient balance: the wallet has {have} {symbol}, the transfer needs {need} {symbol}"
    )


def _call_of(order: Order) -> dict[str, str]:
    if not order.token.contract:
        return {"from": order.sender, "to": order.recipient, "value": hex(order.units), "data": "0x"}
    data = "0x" + TRANSFER + _word(order.recipient) + f"{order.units:064x}"
    return {"from": order.sender, "to": order.token.contract, "value": "0x0", "data": data}


def _word(address: str) -> str:
    return address[2:].lower().rjust(64, "0")


def _number(answer: str) -> int:
    return int(answer[:66], 16)


def _string(answer: str) -> str:
    """Return an ABI string, or the bytes32 that old tokens give; printable ASCII of it."""
    raw = bytes.fromhex(answer[2:])
    if len(raw) >= 64:
        raw = raw[64 : 64 + min(int.from_bytes(raw[32:64], "big"), 64)]
    return "".join(chr(byte) for byte in raw if 32 < byte < 127)[:20]


def _reason(error: RpcError) -> str:
    """Return why a call reverts: `Error(string)` decoded, or the node's own words."""
    data = error.data.get("data") if isinstance(error.data, dict) else error.data
    if isinstance(data, str) and data.startswith("0x08c379a0") and len(data) >= 138:
        raw = bytes.fromhex(data[10:])
        length = min(int.from_bytes(raw[32:64], "big"), 200)
        return "reverted: " + raw[64 : 64 + length].decode("utf-8", "replace")
    return error.message[:200]


def _knows(answer: Any) -> bool:
    return isinstance(answer, RpcError) and KNOWN.search(answer.message) is not None


def _refuses(answer: Any) -> bool:
    if isinstance(answer, Unasked):
        return True
    return isinstance(answer, RpcError) and answer.final and REFUSED.search(answer.message) is not None


def _rounded_up(number: int) -> int:
    """Return the next number of two significant digits, so that a person can read it."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // step) * step
