"""Streamed previews: shown, changed, gone after 30 seconds or when a real message comes.

https://core.telegram.org/bots/api#sendmessagedraft
"""

from typing import Any

from bot.demo.chats import DRAFT_LIFE, Draft
from bot.demo.entities import read_text
from bot.demo.methods.common import find_chat, find_thread
from bot.demo.params import Params
from bot.demo.refusals import bad_request
from bot.demo.world import World


def send_message_draft(world: World, params: Params) -> Any:
    number = params.integer("draft_id")
    text, entities = read_text(params, "text", strict=world.settings.strict, find_user=world.user_wire)
    chat = find_chat(world, params)
    if chat.is_group:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    thread = find_thread(world, chat, params)
    if number == 0:
        raise bad_request("RANDOM_ID_INVALID")
    can_stop = world.settings.newest and params.flag("can_stop")
    draft = Draft(number, text, entities, world.clock() + DRAFT_LIFE, can_stop)
    world.draft(chat, thread, draft)
    return True


METHODS = {"sendMessageDraft": send_message_draft}
