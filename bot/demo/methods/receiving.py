"""getMe, getUpdates, webhooks, logOut, close."""

import re
from collections.abc import Coroutine
from typing import Any

from bot.demo.params import Params
from bot.demo.refusals import Refusal, bad_request, too_many
from bot.demo.updates import LONGEST_POLL
from bot.demo.world import World

WEBHOOK_PORTS = (443, 80, 88, 8443)


def get_me(world: World, _: Params) -> Any:
    return world.bot_me()


def get_updates(world: World, params: Params) -> Coroutine[Any, Any, bytes]:
    updates = world.updates
    if not updates.webhook and "allowed_updates" in params:
        updates.allow(read_kinds(params))
    timeout = min(max(params.integer("timeout"), 0), LONGEST_POLL)
    return updates.fetch(params.integer("offset"), params.integer("limit"), timeout)


def set_webhook(world: World, params: Params) -> Any:
    url = params.text("url").strip()
    if not url:
        return delete_webhook(world, params)
    secret = params.text("secret_token")
    if len(secret) > 256:
        raise bad_request("secret token is too long")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
        raise bad_request("secret token contains unallowed characters")
    if not re.match(r"https?://[^/\s]+", url):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    most = params.integer("max_connections") or 40
    if "allowed_updates" in params:
        world.updates.allow(read_kinds(params))
    if params.flag("drop_pending_updates"):
        world.updates.drop()
    world.updates.end_poll(Refusal(409, "Conflict: terminated by setWebhook request"))
    world.webhook = {"url": url, "max_connections": min(max(most, 1), 100), "secret_token": secret}
    world.updates.webhook = True
    return True


def delete_webhook(world: World, params: Params) -> Any:
    if params.flag("drop_pending_updates"):
        world.updates.drop()
    world.updates.webhook = False
    world.webhook = {}
    return True


def get_webhook_info(world: World, _: Params) -> Any:
    known = {key: value for key, value in world.webhook.items() if key != "secret_token"}
    info: dict[str, Any] = {
        "url": "",
        "has_custom_certificate": False,
        "pending_update_count": len(world.updates.waiting()),
    }
    if world.updates.allowed is not None:
        info["allowed_updates"] = sorted(world.updates.allowed)
    return info | known


def log_out(world: World, _: Params) -> Any:
    return True


def close(world: World, _: Params) -> Any:
    raise too_many(600)


def read_kinds(params: Params) -> list[str]:
    """Read allowed_updates; what is no list of words is ignored, as the server does."""
    try:
        kinds = params.json("allowed_updates", "allowed updates")
    except Refusal:
        return []
    return [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []


METHODS = {
    "getMe": get_me,
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "logOut": log_out,
    "close": close,
}
