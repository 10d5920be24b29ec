"""Cutting long text for the model (requirement R4)."""


def truncate(text: str, limit: int) -> str:
    """Keep the beginning and the end of a text, where commands say what they do and how it went.

    Args:
        text: Redacted already: half a secret passes no redaction.
        limit: Characters (code points) to keep, a third of them from the beginning. Lines stay whole unless
            that would waste more than half of a part.

    Returns:
        The same text when it fits; else at most the limit, plus one line that says how much there was.
    """
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 3], text[len(text) - (limit - limit // 3) :]
    if (end := head.rfind("\n") + 1) * 2 >= len(head):
        head = head[:end]
    if 0 < (start := tail.find("\n") + 1) <= len(tail) // 2:
        tail = tail[start:]
    left_out = len(text) - len(head) - len(tail)
    gap = f"[… {left_out} of {len(text)} characters left out …]\n"
    return head + ("\n" if head and not head.endswith("\n") else "") + gap + tail
