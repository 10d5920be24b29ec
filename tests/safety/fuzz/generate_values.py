"""Shell text in which words get their values in roundabout ways: variables, expansions, functions, arrays."""

import random

PROBES = ("wc", "ls", "stat", "cat", "file", "realpath")
NAMES = ("x", "y", "z")
PLAIN = ("a", "-r", "b/c.d", "a-b", "ab", ".", "aXa", "--", "c d", "-a b", "*", "?", "", "a:b", "1", "07")
OPERATORS = (
    "#a", "##a", "%a", "%%a", "#*-", "##*/", "%/*", "%.*", "#?", "%?", "/a/b", "//a/-", "/#a/", "/%b/",
    "^", "^^", ",", ",,", ":1", ":0:1", ": -1", ":1:1", "#-", "##-", "%b*", "##[ab]", "#'a'", '%"b"',
)  # fmt: skip


class ValueGenerator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        """Return one input: a few statements and at least one program with arguments."""
        lines = [self.statement(2) for _ in range(self.random.randint(1, 4))]
        lines.append(self.probe())
        text = self.random.choice(["\n", "; ", "; ", " && "]).join(lines)
        if self.random.random() < 0.2:
            text = self.mutate(text)
        return text

    def mutate(self, text: str) -> str:
        at = self.random.randrange(len(text))
        extra = self.random.choice(['"', "'", "$", "\\", " ", "{", "}", "-", "", "", "(", ")", "\n"])
        return text[:at] + extra + text[at + self.random.randint(0, 1) :]

    def name(self) -> str:
        return self.random.choice(NAMES)

    def probe(self) -> str:
        words = [self.word(2) for _ in range(self.random.randint(1, 3))]
        return " ".join([self.random.choice(PROBES), *words])

    def statement(self, depth: int) -> str:
        name, word, other = self.name(), self.word(depth), self.word(depth)
        if depth <= 0:
            return self.random.choice([self.probe(), f"{name}={self.assigned(word)}"])
        inner, more = self.statement(depth - 1), self.statement(depth - 1)
        match self.random.randint(0, 24):
            case 0 | 1 | 2 | 3 | 4:
                return f"{name}={self.assigned(word)}"
            case 5:
                return f"{name}+={self.assigned(word)}"
            case 6:
                return f"{name}=({word} {other})"
            case 7:
                return f"for {name} in {word} {other}; do {inner}; done"
            case 8:
                return f"{{ {inner}; {more}; }}"
            case 9:
                return f"( {inner}; {more} )"
            case 10:
                return f"f() {{ {inner}; }}; f {word} {other}"
            case 11:
                return f"set -- {word} {other}"
            case 12:
                return f"if [ -n {word} ]; then {inner}; else {more}; fi"
            case 13:
                return f"read -r {name} <<< {word}"
            case 14:
                return f"while read -r {name}; do {inner}; done <<< {word}"
            case 15:
                return f"export {name}={self.assigned(word)}"
            case 16:
                return f": ${{{name}:={word}}}"
            case 17:
                return f"unset {name}"
            case 18:
                return f"case {word} in a*) {inner};; *) {more};; esac"
            case 19:
                return f"f() {{ local {name}={self.assigned(word)}; {inner}; }}; f {other}"
            case 20:
                return f"{name}=$({inner}; echo {word})"
            case 21:
                return f"echo {word} | while read -r {name} {self.name()}; do {inner}; done"
            case 22:
                return f"{name}={self.assigned(word)} {self.probe()}"
            case 23:
                return f"{inner} || {more}"
            case _:
                return self.probe()

    def assigned(self, word: str) -> str:
        return word if word and " " not in word else f'"{word}"' if '"' not in word else "a"

    def word(self, depth: int) -> str:
        name, plain = self.name(), self.random.choice(PLAIN)
        operator = self.random.choice(OPERATORS)
        if depth <= 0:
            return self.random.choice(
                [f"'{plain}'", f'"${name}"', f"${name}", plain.replace(" ", "\\ ") or "''"]
            )
        inner = self.word(depth - 1)
        quoted = inner if '"' not in inner else f"${name}"
        match self.random.randint(0, 22):
            case 0 | 1:
                return f"'{plain}'"
            case 2:
                return plain.replace(" ", "\\ ") or '""'
            case 3:
                return f'"${name}"'
            case 4:
                return f"${name}"
            case 5 | 6:
                return f"${{{name}{operator}}}"
            case 7 | 8:
                return f'"${{{name}{operator}}}"'
            case 9:
                return f"${{{name}:-{quoted}}}"
            case 10:
                return f"${{{name}:+{quoted}}}"
            case 11:
                return f'"${{{name}[@]}}"'
            case 12:
                return f"${{{name}[0]}}"
            case 13:
                return f'"{quoted}${name}"'
            case 14:
                return f"$(echo {inner})"
            case 15:
                return f'"$(printf %s {inner})"'
            case 16:
                return f"{{{plain.strip('- *?') or 'q'},{name}}}${name}"
            case 17:
                return self.random.choice(["$1", '"$@"', "$*", '"$1"', "$#", "${1:-a}", "${@:1:1}", "${2#a}"])
            case 18:
                return f"{inner}{self.word(0)}"
            case 19:
                return f"$'{plain}\\x2da'"
            case 20:
                return f"${{#{name}}}"
            case 21:
                return f"$(( {self.random.randint(0, 9)} + 1 ))"
            case _:
                return f"-{self.word(0)}"
