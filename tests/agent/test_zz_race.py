import asyncio, pathlib, tempfile
import pytest
from bot.demo.model_server import Reply, call
from bot.messages import Conversation, UserMessage
from bot.agent import Limits
from tests.agent.conftest import *

async def test_race(house):
    def script(request):
        if request.results: return Reply("done")
        return Reply("", [call("note", text="a"), call("note", text="b")])
    here = await house(script)
    for i in range(120):
        c = Conversation(1000+i)
        t = asyncio.ensure_future(here.agent.hear(c, UserMessage("x", 7)))
        await asyncio.sleep(0.002 + i*0.0003)
        t.cancel()
        await asyncio.wait([t])
        await here.agent.stop(c)
    v = here.violations()
    print(len(v), v[:5])
    assert not v

async def test_race_timeout(house):
    def script(request):
        if request.results: return Reply("done")
        return Reply("", [call("note", text="a"), call("note", text="b")])
    bad=[]
    here = await house(script)
    for i in range(120):
        c = Conversation(1000+i)
        here.agent._limits = Limits(turn_timeout=0.002+i*0.0003)
        try: await here.agent.hear(c, UserMessage("x", 7))
        except BaseException as e: bad.append(repr(e))
    v = here.violations()
    print(len(v), v[:5], bad[:5])
    assert not v and not bad
