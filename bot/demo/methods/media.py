"""Files: one, several, and back."""

import json
import mimetypes
from collections.abc import Mapping
from typing import Any

from bot.demo.files import PHOTO_LIMIT, StoredFile
from bot.demo.messages import Json
from bot.demo.methods.common import find_chat
from bot.demo.methods.messages import post_from_bot, read_caption
from bot.demo.params import Params, Upload
from bot.demo.refusals import Refusal, bad_request
from bot.demo.world import World

ALBUM_KINDS = ("photo", "video", "document", "audio")


def send_file(kind: str, world: World, params: Params) -> Any:
    content = file_content(world, kind, params, params.values.get(kind))
    return post_from_bot(world, params, content | read_caption(world, params)).wire()


def send_document(world: World, params: Params) -> Any:
    return send_file("document", world, params)


def send_photo(world: World, params: Params) -> Any:
    return send_file("photo", world, params)


def send_voice(world: World, params: Params) -> Any:
    return send_file("voice", world, params)


def send_audio(world: World, params: Params) -> Any:
    return send_file("audio", world, params)


def send_video(world: World, params: Params) -> Any:
    return send_file("video", world, params)


def send_animation(world: World, params: Params) -> Any:
    return send_file("animation", world, params)


def send_media_group(world: World, params: Params) -> Any:
    items = params.json("media", "media")
    if not isinstance(items, list):
        raise bad_request("Expected an Array of InputMedia")
    if not 2 <= len(items) <= 10:
        raise bad_request(
            "there must be 2-10 items to send as an album"
            if len(items) > 10
            else "album must have 2-10 items"
        )
    kinds = {item.get("type") for item in items if isinstance(item, dict)}
    if not kinds <= set(ALBUM_KINDS) or (len(kinds) > 1 and kinds & {"document", "audio"}):
        raise bad_request("Can't use the media of the specified type in the album")
    find_chat(world, params)
    contents = []
    for item in items:
        content = file_content(world, item["type"], params, item.get("media"))
        contents.append(content | read_caption(world, Params(item)))
    group = str(13_000_000_000_000_000 + world.updates.next_id * 100 + len(world.calls.of("sendMediaGroup")))
    bare = Params({k: v for k, v in params.values.items() if k != "reply_markup"})
    return [post_from_bot(world, bare, content | {"media_group_id": group}).wire() for content in contents]


def get_file(world: World, params: Params) -> Any:
    return world.files.offer(params.text("file_id"))


def file_content(world: World, kind: str, params: Params, value: Any) -> Json:
    """Return the content fields of an uploaded or known file.

    Raises:
        Refusal: No file, an unknown id, or a photo over 10 MB.
    """
    stored = resolve(world, kind, params.uploads, value)
    if kind == "photo":
        if stored.size > PHOTO_LIMIT:
            raise bad_request(f"file of size {stored.size} bytes is too big for a photo")
        return media_content(stored)
    return media_content(stored)


def media_content(stored: StoredFile) -> Json:
    """Return the content fields of a stored file: a photo is a list of sizes."""
    if stored.kind == "photo":
        small = stored.wire() | {"width": 90, "height": 51, "file_unique_id": stored.unique_id + "s"}
        return {"photo": [small, stored.wire()]}
    if stored.kind == "animation":
        return {"animation": stored.wire(), "document": stored.wire()}
    return {stored.kind: stored.wire()}


def resolve(world: World, kind: str, uploads: Mapping[str, Upload], value: Any) -> StoredFile:
    """Find the file a parameter means: a part of the request, `attach://`, a known id, or a URL.

    Raises:
        Refusal: There is none, it is empty, or it is a URL: the emulator has no internet.
    """
    text = value if isinstance(value, str) else json.dumps(value) if value else ""
    upload = uploads.get(text.removeprefix("attach://")) if text.startswith("attach://") else None
    upload = upload or (uploads.get(kind) if not text else None)
    if upload is not None:
        if not upload.data:
            raise bad_request("file must be non-empty")
        mime = upload.mime or mimetypes.guess_type(upload.name)[0] or ""
        return world.files.add(kind, upload.name, upload.data, mime=mime)
    if not text or text.startswith("attach://"):
        raise bad_request(f"There is no {kind} in the request")
    if text.startswith(("http://", "https://")):
        raise bad_request("Failed to get HTTP URL content")
    stored = world.files.find(text)
    if stored is None:
        raise bad_request("wrong file identifier/HTTP URL specified")
    if stored.kind != kind:
        raise Refusal(400, f"Bad Request: can't use file of type {stored.kind.title()} as {kind.title()}")
    return stored


METHODS = {
    "sendDocument": send_document,
    "sendPhoto": send_photo,
    "sendVoice": send_voice,
    "sendAudio": send_audio,
    "sendVideo": send_video,
    "sendAnimation": send_animation,
    "sendMediaGroup": send_media_group,
    "getFile": get_file,
}
