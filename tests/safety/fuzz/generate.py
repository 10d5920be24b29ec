"""Shell text that nobody would write: token soup, sentences of a small grammar, and mutations of both.

No slash, no `kill`, no digit but 1 and 2: nothing here can name a process or a file outside its folder.
"""

import random

LOW = ("ls", "wc", "df", "stat", "uptime", "uname", "who", "nproc", "du", "file", "realpath", "cat")
HIGH = ("rm", "zz", "dd")
_PIECES = (
    " ", " ", " ", " ", " ", "\n", ";", "&", "|", "||", "&&", "|&", ";;", "(", ")", "{", "}", "((", "))",
    "[[", "]]", "[", "]", "$(", "`", "${x", "${x:-", "${x:=", "${x/", "${#x", "$x", '"$x"', "$((", "$[",
    "x=", "x+=", "x=(", "x[1]=", "a[$(", '"', "'", "$'", '$"', "\\", "\\\n", "#", "!", "~", "*", "?", "=",
    ",", ":", "<", ">", ">>", "<<", "<<-", "<<<", "<(", ">(", "2>&1", "&>", ">|", "if", "then", "else",
    "elif", "fi", "for", "in", "do", "done", "while", "until", "case", "esac", "select", "function",
    "time", "coproc", "x", "y", "1", "2", "-l", "-a", "--", "EOF", "\nEOF\n", "'EOF'", "eval", "exec",
    "command", "builtin", "let", "declare", "export", "local", "test", "read", "set", "unset", "trap",
    "printf", "echo", "true", ":", "f()", "f", "env", "xargs", "nice", "{x,y}", "{1..2}", "@", "%", "^",
    "\t",
)  # fmt: skip


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        return self.random.choice(LOW if self.random.random() < 0.93 else HIGH)

    def text(self) -> str:
        """Return one input."""
        roll = self.random.random()
        if roll < 0.35:
            return self.soup()
        sentence = self.sentence(3)
        if roll < 0.6:
            return sentence
        for _ in range(self.random.randint(1, 3)):
            sentence = self.mutate(sentence)
        return sentence

    def soup(self) -> str:
        pieces = []
        for _ in range(self.random.randint(2, 14)):
            pieces.append(self.name() if self.random.random() < 0.3 else self.random.choice(_PIECES))
            if self.random.random() < 0.5:
                pieces.append(" ")
        return "".join(pieces)

    def mutate(self, text: str) -> str:
        at = self.random.randint(0, len(text))
        end = min(len(text), at + self.random.randint(1, 3))
        match self.random.randint(0, 3):
            case 0:
                return text[:at] + text[end:]
            case 1:
                return text[:at] + self.random.choice(_PIECES) + text[at:]
            case 2:
                return text[:at] + text[at:end] * 2 + text[end:]
            case _:
                other = self.random.randint(0, len(text))
                return text[:at] + text[other : other + 3] + text[end:]

    def sentence(self, depth: int) -> str:
        """Return a list of commands."""
        if depth <= 0:
            return self.simple(0)

        def one() -> str:
            return self.sentence(depth - 1)

        def two() -> str:
            return self.sentence(depth - 2)

        match self.random.randint(0, 17):
            case 0:
                return f"{one()}; {two()}"
            case 1:
                return f"{one()} && {two()}"
            case 2:
                return f"{one()} | {two()}"
            case 3:
                return f"( {one()} )"
            case 4:
                return f"{{ {one()}; }}"
            case 5:
                return f"if {two()}; then {one()}; else {two()}; fi"
            case 6:
                return f"for x in {self.word(depth)} {self.word(0)}; do {one()}; done"
            case 7:
                return f"while {two()}; do {one()}; break; done"
            case 8:
                pattern = self.random.choice(["x", "*", "ls"])
                return f"case {self.word(depth)} in {pattern}) {one()};; *) {two()};; esac"
            case 9:
                return f"f() {{ {one()}; }}; f {self.word(0)}"
            case 10:
                return self.here_document(depth)
            case 11:
                return f"[[ {self.random.choice(['-n', '-f', '-z'])} {self.word(depth)} ]] || {one()}"
            case 12:
                return f"x={self.word(depth)}; {one()}"
            case 13:
                return f"x=({self.word(depth)} {self.word(depth)}); {one()}"
            case 14:
                return f"{one()} &\n{two()}"
            case 15:
                return f"! {one()}\n{two()}"
            case 16:
                return f"(( {self.random.choice(['1', '2', 'x=1'])} )) ; {one()}"
            case _:
                return self.simple(depth)

    def here_document(self, depth: int) -> str:
        opening = self.random.choice(
            ["<<EOF", "<<-EOF", "<<'EOF'", '<<"EOF"', "<< EOF", "@<<EOF", "<<EOF | sort", "<<EOF > x"]
        )
        lines = [
            self.random.choice(["", "\t", " "])
            + " ".join(self.word(depth) for _ in range(self.random.randint(0, 2)))
            for _ in range(self.random.randint(0, 3))
        ]
        ending = self.random.choice(["EOF", "EOF", "EOF", "\tEOF", "EOF ", "EO\\\nF"])
        return f"cat {opening}\n" + "\n".join([*lines, ending, self.sentence(depth - 2)])

    def simple(self, depth: int) -> str:
        words = [self.name() if self.random.random() < 0.8 else self.word(depth)]
        if self.random.random() < 0.15:
            words.insert(
                0,
                self.random.choice(
                    ["command", "exec", "time", "!", "builtin", "nice", "eval", "x=1", "env", "xargs"]
                ),
            )
        words += [self.word(depth) for _ in range(self.random.randint(0, 2))]
        if self.random.random() < 0.2:
            words.append(
                self.random.choice(["> x", "2>&1", "< x", ">> y", f"<<< {self.word(depth)}", "&> x"])
            )
        return " ".join(words)

    def word(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.random.choice(
                [
                    "x",
                    "-l",
                    "$x",
                    '"$x"',
                    "'a b'",
                    "*",
                    "{x,y}",
                    "a\\ b",
                    "$'x'",
                    "${x}",
                    "~",
                    "x=y",
                    self.name(),
                    '"${x[@]}"',
                    "$#",
                    "#x",
                    "a#b",
                    "$@",
                ]
            )
        inner = self.sentence(depth - 1)
        match self.random.randint(0, 11):
            case 0:
                return f"$({inner})"
            case 1:
                return f'"$({inner})"'
            case 2:
                return f"`{inner}`" if "`" not in inner else "x"
            case 3:
                return f"<({inner})"
            case 4:
                return f"${{x:-$({inner})}}"
            case 5:
                return f'"${{x:+`{inner}`}}"' if "`" not in inner else "y"
            case 6:
                return f"$(( 1 + $({inner}) ))"
            case 7:
                return f"x$({inner})y"
            case 8:
                return f">({inner})"
            case 9:
                return f"${{x[$({inner})]}}"
            case 10:
                return f"{self.name()}`{self.name()}`{self.word(0)}"
            case _:
                return f"${{x/{self.word(0)}/$({inner})}}"
