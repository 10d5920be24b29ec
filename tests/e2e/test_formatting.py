"""Nasty Markdown through the emulator's strict checks: delivered, formatted, nothing lost."""

from pathlib import Path

from bot.demo.messages import Message
from tests.e2e.harness import puppet, town

NASTY: dict[str, tuple[str, list[str], dict[str, list[str]]]] = {
    # Markdown; what must be read; what must be covered by which entity.
    "md-local-path-link": (
        "[audit](/Users/foo/docs/audit.md), [x](./README.md), [y](#usage), [z](http://localhost:8080/)",
        ["audit", "x", "y", "z"],
        {"text_link": []},
    ),
    "link": (
        "read [the **manual**](https://x.example/a?b=1&c=(2)) soon",
        ["read the manual soon"],
        {"text_link": ["the manual"], "bold": ["manual"]},
    ),
    "md-unbalanced": ("a_b *c `d ``` e\n```python\nprint(1)", ["a_b", "print(1)"], {}),
    "md-url-underscores": (
        "see https://x.example/NRR-JaUmg_hm7 and https://x.example/a_b_c",
        ["https://x.example/NRR-JaUmg_hm7", "https://x.example/a_b_c"],
        {"italic": []},
    ),
    "generics": (
        "use `vector<int>` or std::vector<int> and Map<String, List<Integer>>, mail <you>@example.com",
        ["std::vector<int>", "Map<String, List<Integer>>", "<you>@example.com"],
        {"code": ["vector<int>"]},
    ),
    "table": ("| a | b |\n|---|---|\n| 1 | 二 |\n| 3 | 😀 |", ["a", "二", "😀"], {}),
    "nested list": (
        "- one\n  - two\n    - three **bold**\n1. four",
        ["one", "three", "four"],
        {"bold": ["bold"]},
    ),
    "right to left": ("**שלום** עולם و`مرحبا`", ["עולם"], {"bold": ["שלום"], "code": ["مرحبا"]}),
    "emoji": ("👨‍👩‍👧‍👦 **🇮🇩** done", ["👨‍👩‍👧‍👦", "done"], {"bold": ["🇮🇩"]}),
    "code block": (
        "before\n```bash\nls -la | grep _x_\n```\nafter",
        ["after"],
        {"pre": ["ls -la | grep _x_"]},
    ),
    "quote": ("> quoted **bold**\n\nplain", ["plain"], {"bold": ["bold"]}),
    "empty fences": ("``` ```\n\n---\n\nend", ["end"], {}),
}


async def test_nasty_answers_arrive_formatted_and_whole(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        for name, (markdown, words, covered) in NASTY.items():
            here.alice.send(f"say {markdown}")
            answer = await here.alice.chat.expect(by_bot(words[-1]), within=15)

            assert [word for word in words if word not in answer.text] == [], name
            for kind, parts in covered.items():
                assert answer.covered(kind) == parts, name

        assert [call for call in here.emulator.calls() if call.status == 400] == []


async def test_many_entities_and_emoji_without_a_line_are_cut_where_nothing_breaks(tmp_path: Path) -> None:
    async with town(tmp_path, puppet) as here:
        here.alice.send("say " + "\U0001f600" * 2040)
        here.alice.send("say " + " ".join(f"**b{number}**" for number in range(300)))
        await here.alice.chat.expect("b299", within=15)

        texts = [m for m in here.alice.chat.messages if m.sender.is_bot]
        assert "".join(m.text for m in texts).count("\U0001f600") == 2040
        assert max(len(m.entities) for m in texts) <= 100
        assert sum(len(m.covered("bold")) for m in texts) == 300
        assert [call for call in here.emulator.calls() if call.status == 400] == []


def by_bot(word: str):  # type: ignore[no-untyped-def]
    def shown(message: Message) -> bool:
        return message.sender.is_bot and word in message.text

    return shown
