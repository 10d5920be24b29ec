"""What leaves the machine, and where to."""

import re
from typing import TYPE_CHECKING

from bot.messages import Risk
from bot.safety.words import GLOB, HOLES, NAME, PATH, is_literal, is_unknown, show

if TYPE_CHECKING:
    from bot.safety.scan import Scan

LONGEST_QUERY = 64  # bytes of a literal query that pass as an ordinary question
LONGEST_LABEL = 32  # bytes of a host name's label
MOST_LABELS = 5

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*)://)?([^/?#\\]*)([^?#]*)(\?[^#]*)?(#.*)?\Z", re.DOTALL)
_ADDRESS = re.compile(r"\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._\-]+")


def is_local(host: str, scan: "Scan") -> bool:
    """Whether the host is this machine, or one the operator trusts as much."""
    name = host.lower().rstrip(".")
    rules = scan.rules
    return (
        name in rules.words("network", "loopback")
        or name.startswith("127.")
        and name.replace(".", "").isdigit()
    )


def judge_host(scan: "Scan", host: str) -> bool:
    """Find what naming a host to a resolver or a connection gives away. True when it is this machine."""
    rules = scan.rules
    name = host.lower().rstrip(".")
    bare = name.strip("[]")
    if is_unknown(host):
        scan.find(Risk.HIGH, "sends computed text to the network as a host name", show(host), "network.host")
        return False
    if bare in rules.words("network", "metadata") or is_disguised_address(bare):
        scan.find(Risk.HIGH, "asks the cloud's metadata service for keys", show(host), "network.metadata")
        return False
    if (NAME in host or PATH in host) and len(host) > 1:
        # The name of a machine alone is one; set before a domain, an answer goes to whoever owns the domain.
        scan.find(Risk.HIGH, "sends computed text to the network as a host name", show(host), "network.host")
        return False
    scan.talk_to(show(host))
    if is_local(name, scan) or name in rules.words("network", "trusted"):
        return True
    labels = name.split(".")
    if any(len(label) > LONGEST_LABEL for label in labels) or len(labels) > MOST_LABELS:
        scan.find(Risk.HIGH, "a host name long enough to carry data away", show(host), "network.host")
    return False


def is_disguised_address(host: str) -> bool:
    """Whether the host is an address written so that a list of names would miss it."""
    if re.fullmatch(r"0x[0-9a-f]+|\d{6,}", host):
        return True
    parts = host.split(".")
    if len(parts) in (2, 3, 4) and all(re.fullmatch(r"0x[0-9a-f]+|\d+", part) for part in parts):
        odd = any(part.startswith("0x") or (len(part) > 1 and part[0] == "0") for part in parts)
        return odd or len(parts) != 4 or parts[:2] == ["169", "254"]
    return (
        "169.254.169.254" in host
        or host.startswith("::ffff:")
        or host.endswith((".nip.io", ".sslip.io", ".xip.io"))
    )


def judge_url(scan: "Scan", url: str) -> bool:
    """Find what a plain GET of the URL gives away. True when it goes to this machine."""
    match = _URL.match(url)
    if match is None:
        scan.find(Risk.HIGH, "an address that can't be read", show(url), "network.url")
        return False
    scheme, authority, path, query, _ = match.groups()
    scheme = (scheme or "http").lower()
    if scheme not in ("http", "https", "ftp", "ftps", "ws", "wss", "git", "ssh", "dict", "tcp"):
        scan.find(Risk.HIGH, f"reads {scheme}:// addresses", show(url), "network.scheme")
        return False
    if scheme == "dict":
        scan.find(Risk.HIGH, "speaks to any port through dict://", show(url), "network.scheme")
    if is_unknown(authority) or not authority or set(authority) & set(GLOB):
        scan.find(Risk.HIGH, "the host is computed at run time", show(url), "network.url")
        return False
    if "@" in authority:
        scan.find(Risk.HIGH, "sends a user name or password to a host", show(url), "network.user")
        authority = authority.rpartition("@")[2]
    host = re.sub(r":[0-9\x01\x02]*\Z", "", authority)
    if not _ADDRESS.fullmatch("".join("x" if char in HOLES else char for char in host)):
        scan.find(Risk.HIGH, "a host name that can't be read", show(url), "network.url")
        return False
    local = judge_host(scan, host)
    rest = path + (query or "")
    if local:
        if is_unknown(rest):
            scan.find(Risk.LOW, "asks this machine", show(url), "network.url")
        return True
    if is_unknown(rest) or not is_literal(
        rest.replace("\x01", "").replace("\x06", "").replace("\x05", "").replace("\x07", "")
    ):
        scan.find(Risk.HIGH, f"sends computed text to {show(host)}", show(url), "network.data")
    elif len(query or "") > LONGEST_QUERY * 3 or carries_data(rest):
        scan.find(
            Risk.HIGH, f"an address long enough to carry data to {show(host)}", show(url), "network.data"
        )
    elif len(query or "") > LONGEST_QUERY:
        scan.find(Risk.MEDIUM, f"a long question to {show(host)}", show(url), "network.data")
    return False


_BLOB = re.compile(r"[A-Za-z0-9+_=%]{40,}")


def carries_data(text: str) -> bool:
    """Whether an address holds what looks like encoded data; a commit id or a digest is not."""
    for blob in _BLOB.findall(text):
        if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob):
            continue
        if any(char.isdigit() for char in blob) and any(char.isupper() for char in blob):
            return True
    return False
