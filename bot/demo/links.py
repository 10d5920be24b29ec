"""Which addresses a text link may have. One bad one refuses the whole message when sent as an entity.

Restated from TDLib (`LinkManager::check_link`, `parse_url`).
"""

import re

from bot.demo.refusals import bad_request

_OWN = re.compile(r"(tg|ton|tonsite):(?://)?(.*)", re.IGNORECASE | re.DOTALL)
_USER = re.compile(r"tg:(?://)?user/?\?id=(\d+)", re.IGNORECASE)


def mentioned_user(url: str) -> int | None:
    """Return the user id of a `tg://user?id=` address, or None."""
    found = _USER.fullmatch(url)
    return int(found[1]) if found else None


def check_link(url: str) -> str:
    """Return the address as the server keeps it.

    Raises:
        Refusal: `entity URL '…' is invalid: …`.
    """
    checked, problem = judge_link(url)
    if problem:
        raise bad_request(f"Entity URL '{url}' is invalid: {problem}")
    return checked


def judge_link(url: str) -> tuple[str, str]:
    """Return the address as the server keeps it, and why it is refused; one of the two is empty."""
    scheme, rest = "", url
    if own := _OWN.match(url):
        scheme, rest = own[1].lower(), own[2]
    protocol, colon, tail = rest.partition("://")
    if colon and not re.search(r"[:/?#@\[\]]", protocol):
        if protocol.lower() not in ("http", "https"):
            return "", "Unsupported URL protocol"
        kept, rest = protocol.lower(), tail
    else:
        kept = "http"
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(authority) :].rstrip() or "/"
    if not path.startswith("/"):
        path = "/" + path
    userinfo, _, host = authority.rpartition("@")
    port = ""
    if found := re.fullmatch(r"(.+):([^\]]*)", host):
        host, port = found[1], found[2]
        if not port.isdecimal() or not 0 < int(port) <= 65535:
            return "", "Wrong port number specified in the URL"
    if not host:
        return "", "URL host is empty"
    if host == ".":
        return "", "Host is invalid"
    if scheme:
        if colon or userinfo or port:
            return "", "Wrong tg URL" if scheme == "tg" else "Wrong ton URL"
        if not re.fullmatch(r"[\w.-]+" if scheme == "tonsite" else r"[\w-]+", host, re.ASCII):
            return "", "Unallowed characters in URL host"
        return f"{scheme}://{host}{path[1:] if path.startswith('/?') else path}", ""
    if "." not in host and not host.startswith("["):
        return "", "Wrong HTTP URL"
    return f"{kept}://{userinfo + '@' if userinfo else ''}{host}{':' + port if port else ''}{path}", ""
