"""The floor: a bare httpx loop that does the bot's work and nothing else. No store, no gate, no history.

Its times are what the network, the model server and the emulator cost by themselves.
"""

import asyncio
import json
import os
import subprocess

import httpx


async def main() -> None:
    telegram = f"{os.environ['TELEGRAM_API_URL']}/bot{os.environ['TELEGRAM_BOT_TOKEN']}"
    model = f"{os.environ['CUSTOM_BASE_URL']}/chat/completions"
    key = {"authorization": f"Bearer {os.environ['CUSTOM_API_KEY']}"}
    tool = {
        "type": "function",
        "function": {"name": "run_in_terminal", "parameters": {"type": "object", "properties": {}}},
    }
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=300)) as http:

        async def think(messages: list[dict[str, object]]) -> dict[str, object]:
            body = {"model": "scripted", "messages": messages, "stream": True, "tools": [tool]}
            text, calls = "", list[dict[str, dict[str, str]]]()
            async with http.stream("POST", model, json=body, headers=key) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {") and (choices := json.loads(line[6:])["choices"]):
                        delta = choices[0]["delta"]
                        text += delta.get("content") or ""
                        calls += delta.get("tool_calls") or []
            if not calls:
                return {"role": "assistant", "content": text}
            arguments = "".join(c["function"].get("arguments") or "" for c in calls)
            function = {"name": "run_in_terminal", "arguments": arguments}
            return {
                "role": "assistant",
                "tool_calls": [{"id": calls[0]["id"], "type": "function", "function": function}],
            }

        async def turn(message: dict[str, object]) -> None:
            chat = message["chat"]
            assert isinstance(chat, dict)
            messages: list[dict[str, object]] = [{"role": "user", "content": message["text"]}]
            while "tool_calls" in (reply := await think(messages)):
                calls = reply["tool_calls"]
                assert isinstance(calls, list)
                command = json.loads(calls[0]["function"]["arguments"])["command"]
                process = await asyncio.create_subprocess_exec(
                    "/bin/bash", "-c", command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
                )
                output, _ = await process.communicate()
                result = {"role": "tool", "tool_call_id": calls[0]["id"], "content": output.decode()}
                messages += [reply, result]
            await http.post(f"{telegram}/sendMessage", json={"chat_id": chat["id"], "text": reply["content"]})

        offset, turns = 0, set[asyncio.Task[None]]()
        while True:
            got = await http.post(f"{telegram}/getUpdates", json={"offset": offset, "timeout": 30})
            for update in got.json()["result"]:
                offset = update["update_id"] + 1
                task = asyncio.create_task(turn(update["message"]))
                turns.add(task)
                task.add_done_callback(turns.discard)


if __name__ == "__main__":
    asyncio.run(main())
