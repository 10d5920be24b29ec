"""Write to a store as fast as it goes and print each thing that is acknowledged, until killed.

The command line says where to go on: at which turn, and at which approval, some of which an earlier child
may have claimed.
"""

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

from bot.messages import AssistantMessage, Conversation, Message, ToolResult, UserMessage
from bot.store.base import Status, StoredUpdate
from bot.store.sqlite import SqliteStore
from tests.store.samples import ANN, ASKED, DIGEST, HERE, answer, calling, question


def acknowledged(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def talk(store: SqliteStore, first: int) -> None:
    for n in count(first):
        await store.receive([StoredUpdate(n, "{}")], at=ASKED)
        acknowledged("received", n)
        chat = Conversation(1000 + n)
        turn: list[Message] = [
            UserMessage(str(n)),
            calling(f"t{n}"),
            ToolResult(f"t{n}", ""),
            AssistantMessage("done"),
        ]
        await store.append(chat, turn, effects=[answer(f"answer:{n}")], update_id=n)
        acknowledged("appended", n)


async def approve(store: SqliteStore, first: int) -> None:
    for n in count(first):
        await store.ask([question(f"a{n}", f"c{n}")], [])
        status = Status.APPROVED if n % 3 else Status.DENIED
        if await store.decide(f"a{n}", status, at=ASKED, by=ANN):
            acknowledged("decided", n)
        if await store.claim(HERE, f"c{n}", at=ASKED, digest=DIGEST):
            acknowledged("claimed", n)


async def send(store: SqliteStore) -> None:
    while True:
        for stored in await store.unsent():
            await store.sending(stored.id)
            await store.part_sent(stored.id, stored.id, last=True)
            acknowledged("sent", stored.id)
        await asyncio.sleep(0.001)


async def main(path: Path, turn: int, approval: int) -> None:
    async with SqliteStore.open(path) as store:
        await asyncio.gather(
            talk(store, turn), approve(store, approval), approve(store, approval), send(store)
        )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
