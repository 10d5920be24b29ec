"""The scripted model behind StackSpot AI: a token server, and agents that take one text.

Source: https://ai.stackspot.com/docs/agents/agent-api/agents-api; the stream's fields as others report them.
"""

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.demo.model_request import ModelRequest, SeenMessage
from bot.demo.model_rules import Refused, Traits
from bot.demo.model_service import Service
from bot.demo.model_streams import Reply, data, pieces

CLIENT_ID = "client-id"


class StackSpotService(Service):
    """Attributes:
    issued: How many tokens were given out.
    revoked: Whether every token given out so far is refused.
    """

    shape = "stackspot"
    paths = ("/v1/agent/{model}/chat",)

    def __init__(self) -> None:
        self.issued = 0
        self.revoked = 0

    async def token(self, request: Request, key: str | None) -> Response:
        """Answer a request for a token."""
        form = await request.form()
        right = form.get("client_id") == CLIENT_ID and key in (None, form.get("client_secret"))
        if form.get("grant_type") != "client_credentials" or not right:
            return JSONResponse({"error": "unauthorized_client"}, 401)
        self.issued += 1
        return JSONResponse({"access_token": f"token-{self.issued}", "expires_in": 1199})

    def authorise(self, request: Request, content: bytes, key: str | None) -> None:
        good = {f"Bearer token-{number}" for number in range(self.revoked + 1, self.issued + 1)}
        if request.headers.get("authorization") not in good:
            raise Refused("Unauthorized", status=401)

    def model(self, request: Request, body: Mapping[str, Any]) -> str:
        return str(request.path_params["model"])

    def unknown_model(self, model: str) -> Refused:
        return Refused("Agent not found", status=404)

    def check(self, body: Mapping[str, Any], traits: Traits) -> None:
        if not isinstance(body.get("user_prompt"), str) or not body["user_prompt"].strip():
            raise Refused("user_prompt: field required", status=422)
        for name in set(body) - {"streaming", "user_prompt", "stackspot_knowledge", "return_ks_in_response"}:
            raise Refused(f"{name}: extra fields not permitted", status=422)

    def read(self, body: Mapping[str, Any], model: str) -> ModelRequest:
        text = body["user_prompt"]
        mark = re.escape(text.split(" ", 1)[0])
        pieces_ = re.split(rf"(?m)^{mark} (system|user|assistant)\n", text)[1:]
        parts = [(role, said.strip("\n")) for role, said in zip(pieces_[::2], pieces_[1::2], strict=True)]
        system = "\n\n".join(said for role, said in parts if role == "system")
        messages = tuple(SeenMessage(role, said) for role, said in parts[:-1] if role != "system")
        return ModelRequest(self.shape, model, system, messages, (), "", body)

    def events(self, reply: Reply, asked: ModelRequest, number: int) -> list[bytes]:
        events = [data({"message": piece}) for piece in pieces(reply.text, reply.chunk)]
        cut = reply.finish in ("length", "max_tokens")
        end = {
            "stop_reason": "length" if cut else "stop",
            "message_id": f"m{number}",
            "tokens": {"input": reply.usage.input, "output": reply.usage.output},
        }
        return [*events, data(end)]

    def error(self, refused: Refused) -> Mapping[str, Any]:
        return {"type": "error", "code": "INFERENCE_6001", "detail": str(refused)}

    def error_event(self, text: str) -> bytes:
        return data({"error": {"message": text}})
