"""Files on the server: ids, paths, the two size limits.

https://core.telegram.org/bots/api#sending-files, https://core.telegram.org/bots/api#getfile
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from bot.demo.refusals import bad_request

UPLOAD_LIMIT = 50 * 1024 * 1024
PHOTO_LIMIT = 10 * 1024 * 1024
DOWNLOAD_LIMIT = 20 * 1024 * 1024

_FOLDERS = {
    "photo": "photos",
    "document": "documents",
    "voice": "voice",
    "audio": "music",
    "video": "videos",
    "animation": "animations",
    "sticker": "stickers",
}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as the server keeps it.

    Attributes:
        kind: `document`, `photo`, `voice`, `audio`, `video`, …
        path: Where `/file/bot<token>/` serves it.
        size: In bytes; may be more than `data` holds when a test only claims a size.
    """

    id: str
    unique_id: str
    kind: str
    name: str
    mime: str
    path: str
    data: bytes
    size: int

    def wire(self) -> dict[str, Any]:
        """Return the object that stands in a message; a photo is a list of sizes there."""
        fields: dict[str, Any] = {
            "file_id": self.id,
            "file_unique_id": self.unique_id,
            "file_size": self.size,
        }
        match self.kind:
            case "photo":
                fields |= {"width": 1280, "height": 720}
            case "voice":
                fields |= {"duration": 1, "mime_type": self.mime}
            case "audio":
                fields |= {"duration": 1, "mime_type": self.mime, "file_name": self.name}
            case "video" | "animation":
                fields |= {
                    "duration": 1,
                    "width": 1280,
                    "height": 720,
                    "mime_type": self.mime,
                    "file_name": self.name,
                }
            case "sticker":
                fields |= {
                    "type": "regular",
                    "width": 512,
                    "height": 512,
                    "is_animated": False,
                    "is_video": False,
                }
            case _:
                fields |= {"file_name": self.name, "mime_type": self.mime}
        return fields


class Files:
    """Everything uploaded by the bot or by people."""

    def __init__(self) -> None:
        self._by_id: dict[str, StoredFile] = {}
        self._by_path: dict[str, StoredFile] = {}

    def add(
        self, kind: str, name: str, data: bytes, *, mime: str = "", size: int | None = None
    ) -> StoredFile:
        """Keep a file; equal content gets a new id but the same unique id, as on the server."""
        number = len(self._by_id)
        digest = hashlib.sha256(data + name.encode(errors="replace")).hexdigest()
        folder = _FOLDERS.get(kind, "documents")
        extension = name.rpartition(".")[2] if "." in name else "bin"
        stored = StoredFile(
            id=f"BQAC{kind[:1].upper()}{number:06d}{digest[:24]}",
            unique_id=f"AgAD{digest[:12]}",
            kind=kind,
            name=name,
            mime=mime or "application/octet-stream",
            path=f"{folder}/file_{number}.{extension}",
            data=data,
            size=len(data) if size is None else size,
        )
        self._by_id[stored.id] = stored
        self._by_path[stored.path] = stored
        return stored

    def find(self, file_id: str) -> StoredFile | None:
        """Return the file with this id."""
        return self._by_id.get(file_id)

    def offer(self, file_id: str) -> dict[str, Any]:
        """Return what getFile answers.

        Raises:
            Refusal: Unknown id, or more than 20 MB.
        """
        if not file_id:
            raise bad_request("file_id not specified")
        stored = self._by_id.get(file_id)
        if stored is None:
            raise bad_request("invalid file_id")
        if stored.size > DOWNLOAD_LIMIT:
            raise bad_request("file is too big")
        return {
            "file_id": stored.id,
            "file_unique_id": stored.unique_id,
            "file_size": stored.size,
            "file_path": stored.path,
        }

    def at(self, path: str) -> StoredFile | None:
        """Return the file served at this path."""
        stored = self._by_path.get(path)
        return None if stored is None or stored.size > DOWNLOAD_LIMIT else stored
