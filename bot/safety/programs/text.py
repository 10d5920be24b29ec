"""Programs with a little language of their own: sed, awk, jq, and the searchers."""

import re

from bot.messages import Risk
from bot.safety import paths
from bot.safety.flow import Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.words import ANY, GLOB, NAME, NUM, PATH, SPLIT, STAR, is_literal, is_unknown

_STAND_IN = {NUM: "1", NAME: "x", PATH: "x", "\x04": "~", "\x05": "*", "\x06": "?", "\x07": "[x]"}


def filled(text: str) -> str | None:
    """Return a script with harmless values for its holes; None when a hole could be code."""
    if is_unknown(text):
        return None
    return "".join(_STAND_IN.get(char, char) for char in text)


def filtered(call: Call, files: list[str]) -> Flow:
    if files:
        return Flow("pipe", taints=frozenset(["data"]))
    return Flow("pipe", taints=call.stdin.taints, safe=call.stdin.safe)


@handles("sed", raw=True)
def sed(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    scripts = [value or "" for name, value in call.options if name in ("-e", "--expression")]
    files = list(call.operands)
    if not scripts and not call.has("-f", "--file"):
        if not files:
            call.high("sed without a script")
            return Flow("pipe")
        scripts, files = [files[0]], files[1:]
    script = filled("\n".join(scripts))
    if script is None:
        call.high("an edit script computed at run time")
    else:
        for risk, sentence, path in read_sed(script):
            if path and sentence.startswith("writes"):
                call.write(path)
                call.find(risk, sentence, path)
            elif path and sentence.startswith("reads"):
                call.read(path)
                call.find(Risk.MEDIUM, sentence, path)
            else:
                call.find(risk, sentence)
    in_place = call.has("-i", "--in-place")
    for path in files:
        call.read(path)
        if in_place:
            call.write(path)
    if in_place and not files:
        call.high("edits files named at run time")
    if in_place and call.value("-i", "--in-place") and "/" in (call.value("-i", "--in-place") or ""):
        call.high("writes its backup to another folder")
    return filtered(call, files)


_SET = re.compile(r"\[\^?\]?(?:\[[:.=][^\]]*\]|[^\]\n])*\]")
_ADDRESS = re.compile(r"\s*(?:\d+(?:~\d+)?|\$)")


def read_sed(script: str) -> list[tuple[Risk, str, str]]:
    """Return what a sed script does beyond printing: (risk, sentence, path). GNU sed 4.9's grammar."""
    found: list[tuple[Risk, str, str]] = []
    at, end = 0, len(script)

    def delimited(start: int, delimiter: str, *, regex: bool = True) -> int:
        """Return the index after the closing delimiter, -1 when there is none. It may stand inside `[…]`."""
        index = start
        while index < end:
            char = script[index]
            if char == "\\":
                index += 2
            elif char == "\n":
                return -1
            elif char == delimiter:
                return index + 1
            elif char == "[" and regex:
                match = _SET.match(script, index)
                if match is None:
                    return -1
                index = match.end()
            else:
                index += 1
        return -1

    broken = [(Risk.HIGH, "an edit script that can't be read", "")]
    depth = 0
    while at < end:
        if script[at] in " \t\n;":
            at += 1
            continue
        # addresses
        for _ in range(2):
            match = _ADDRESS.match(script, at)
            if match:
                at = match.end()
            elif at < end and script[at] == "/":
                at = delimited(at + 1, "/")
                if at < 0:
                    return broken
                while at < end and script[at] in "IM":
                    at += 1
            elif at < end and script[at] == "\\" and at + 1 < end:
                at = delimited(at + 2, script[at + 1])
                if at < 0:
                    return broken
                while at < end and script[at] in "IM":
                    at += 1
            elif at < end and script[at] in "+~" and _ == 1:
                match = re.compile(r"[+~]\d+").match(script, at)
                if match is None:
                    return broken
                at = match.end()
            else:
                break
            while at < end and script[at] in " \t":
                at += 1
            if at < end and script[at] == "," and _ == 0:
                at += 1
                while at < end and script[at] in " \t":
                    at += 1
            else:
                break
        while at < end and script[at] in " \t!":
            at += 1
        if at >= end:
            return broken
        command = script[at]
        at += 1
        if command == "{":
            depth += 1
        elif command == "}":
            depth -= 1
        elif command in "=dDgGhHnNpPxzF":
            pass
        elif command in "qQlL":
            match = re.compile(r"[ \t]*\d*").match(script, at)
            at = match.end() if match else at
        elif command == "#":
            line_end = script.find("\n", at)
            at = end if line_end < 0 else line_end
        elif command in ":btTv":
            match = re.compile(r"[^\n;}]*").match(script, at)
            at = match.end() if match else at
        elif command in "aic":
            match = re.compile(r"(?:\\\n|\\.|[^\\\n])*").match(script, at)
            at = match.end() if match else at
        elif command == "y":
            if at >= end:
                return broken
            delimiter = script[at]
            at = delimited(at + 1, delimiter, regex=False)
            at = delimited(at, delimiter, regex=False) if at >= 0 else at
            if at < 0:
                return broken
        elif command == "s":
            if at >= end or script[at] in "\\\n":
                return broken
            delimiter = script[at]
            at = delimited(at + 1, delimiter)
            if at < 0:
                return broken
            # The replacement may hold escaped newlines.
            while at < end and script[at] != delimiter:
                at += 2 if script[at] == "\\" else 1
            if at >= end:
                return broken
            at += 1
            while at < end and script[at] in "gpiImMe0123456789":
                if script[at] == "e":
                    found.append((Risk.HIGH, "runs code given as text (sed's e)", ""))
                at += 1
            if at < end and script[at] == "w":
                line_end = script.find("\n", at)
                line_end = end if line_end < 0 else line_end
                found.append(
                    (Risk.LOW, "writes a file named in the script", script[at + 1 : line_end].strip())
                )
                at = line_end
        elif command in "wW":
            line_end = script.find("\n", at)
            line_end = end if line_end < 0 else line_end
            found.append((Risk.LOW, "writes a file named in the script", script[at:line_end].strip()))
            at = line_end
        elif command in "rR":
            line_end = script.find("\n", at)
            line_end = end if line_end < 0 else line_end
            found.append((Risk.LOW, "reads a file named in the script", script[at:line_end].strip()))
            at = line_end
        elif command == "e":
            found.append((Risk.HIGH, "runs code given as text (sed's e)", ""))
            line_end = script.find("\n", at)
            at = end if line_end < 0 else line_end
        else:
            return [*found, *broken]
        while at < end and script[at] in " \t":
            at += 1
        if at < end and script[at] not in ";\n}#" and command not in "{:btTvaic":
            return [*found, *broken]
    if depth:
        return [*found, *broken]
    return found


@handles("awk", raw=True)
def awk(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    scripts = [value or "" for name, value in call.options if name in ("-e", "--source")]
    operands = list(call.operands)
    if not scripts and not call.has("-f", "--file"):
        if not operands:
            call.high("awk without a program")
            return Flow("pipe")
        scripts = [operands.pop(0)]
    for script in scripts:
        text = filled(script)
        if text is None:
            call.high("an awk program computed at run time")
            continue
        for sentence in read_awk(text):
            call.high(sentence)
    files = [word for word in operands if not re.match(r"[A-Za-z_]\w*=", word)]
    for path in files:
        call.read(path)
    first = re.fullmatch(r"\{\s*print\s+\$(\d)\s*;?\s*\}", scripts[0]) if len(scripts) == 1 else None
    if first and not files and not call.has("-F", "--field-separator"):
        line = field(call.stdin.line, None, int(first[1]))
        return Flow("pipe", line=line, taints=call.stdin.taints, safe=call.stdin.safe)
    return filtered(call, files)


_AWK_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*")|(?P<comment>\#[^\n]*)|(?P<blank>[ \t\r]+|\\\n)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)|(?P<operator>\|\||&&|\|&|>>|[<>=!]=|\+\+|--|\*\*|[-+*/%^]=|.|\n)""",
    re.VERBOSE | re.DOTALL,
)
_AWK_REGEX = re.compile(r"/(?:\\.|\[\]?(?:\\.|\[:\w+:\]|[^\]\n])*\]|[^/\\\[\n])+/")
_AWK_WORDS = frozenset(
    (
        "print printf if else while for do in return delete next nextfile exit function func "
        "case switch default break continue getline"
    ).split()
)


def read_awk(script: str) -> list[str]:
    """Return a sentence for everything an awk program does beyond computing and printing."""
    found: list[str] = []
    at = 0
    previous = ""
    printing = False
    depth = print_depth = 0
    while at < len(script):
        if script[at] == "/" and not (
            previous in (")", "]", "$")
            or (previous and (previous[-1].isalnum() or previous[-1] in '_".'))
            and previous not in _AWK_WORDS
        ):
            match = _AWK_REGEX.match(script, at)
            if match is None:
                return [*found, "an awk program that can't be read"]
            at, previous = match.end(), "/re/]"[-1]
            continue
        match = _AWK_TOKEN.match(script, at)
        if match is None:
            return [*found, "an awk program that can't be read"]
        at = match.end()
        kind, symbol = match.lastgroup, match[0]
        if kind in ("blank", "comment"):
            continue
        if kind == "operator":
            if symbol in "([{":
                depth += 1
            elif symbol in ")]}":
                depth -= 1
                if symbol == "}":
                    printing = False
            elif symbol in (";", "\n"):
                printing = False
            elif symbol in ("|", "|&"):
                found.append("pipes text into or out of a program (awk)")
            elif symbol == "@":
                found.append("calls what is named at run time (awk)")
            elif symbol == '"':
                return [*found, "an awk program that can't be read"]
            elif symbol in (">", ">>") and printing and depth <= print_depth:
                found.append("writes a file named in the awk program")
        elif kind == "name":
            if symbol in ("print", "printf"):
                printing, print_depth = True, depth
            elif symbol == "system":
                found.append("runs code given as text (awk's system)")
            elif symbol in ("ENVIRON", "PROCINFO"):
                found.append("reads the environment (may hold keys)")
            elif symbol in ("ARGV", "ARGC"):
                found.append("reads files named at run time (awk)")
            elif symbol == "getline" and re.match(r"\s*(?:[A-Za-z_$]\w*\s*)?<", script[at:]):
                found.append("reads a file named in the awk program")
        previous = symbol
    return found


@handles("jq", raw=True)
def jq(call: Call) -> Flow:
    words: list[str] = []
    args = list(call.args)
    while args:
        word = args.pop(0)
        if word in ("--arg", "--argjson") and len(args) >= 2:
            args = args[2:]
        elif word in ("--rawfile", "--slurpfile", "--argfile") and len(args) >= 2:
            call.read(args[1])
            args = args[2:]
        elif word in ("--args", "--jsonargs"):
            words.append(word)
            words += args[:1]
            break
        else:
            words.append(word)
    parse_options(call, call.spec, words)
    operands = list(call.operands)
    if not call.has("-f", "--from-file") and operands:
        script = operands.pop(0)
        if re.search(r"(?<![.\w$\"-])env\b|\$ENV\b|\$__prog", script):
            call.high("reads the environment (may hold keys)")
        if re.search(r"\b(?:include|import|input_line_number|get_search_list|modulemeta)\b\s*\"", script):
            call.high("loads code from another file (jq)")
    for path in operands:
        call.read(path)
    return filtered(call, operands)


@handles("yq")
def yq(call: Call) -> Flow:
    operands = [word for word in call.operands if word not in ("eval", "e", "eval-all", "ea")]
    scripts = operands[:1]
    for script in scripts:
        if re.search(r"\b(?:str)?env(?:subst)?\b\s*\(|\benvsubst\b|\$ENV\b", script):
            call.high("reads the environment (may hold keys)")
        if re.search(r"\bload\w*\s*\(", script):
            call.high("reads a file named in the script")
    for path in operands[1:]:
        call.read(path)
        if call.has("-i", "--inplace", "--in-place"):
            call.write(path)
    return filtered(call, operands[1:])


_HUNTING = re.compile(
    r"PRIVATE KEY|AKIA|aws_secret|secret_access|(?<![\w.])(?:password|passwd|secret|api_?key|"
    r"apikey|token|credentials?)s?\s*(?:[=:]|$|\\\||\|)",
    re.IGNORECASE,
)


_KEY_LIKE = re.compile(r"(?i)env|key|secret|passw|pem|cred|token|rsa|ssh|wallet|shadow|\\?\.\Z|\A\^\\?\.")


@handles("grep")
def grep(call: Call) -> Flow:
    """grep, rg, ag: a pattern, then paths; recursive ones read whole trees."""
    operands = list(call.operands)
    patterns = [value or "" for name, value in call.options if name in ("-e", "--regexp")]
    if not patterns and not call.has("-f", "--file", "--files") and operands:
        patterns = [operands.pop(0)]
    recursive = call.program in ("rg", "ag", "ack", "zgrep_r") or call.has(
        "-r", "-R", "--recursive", "--dereference-recursive"
    )
    listing = call.has(
        "-l",
        "--files-with-matches",
        "-L",
        "--files-without-match",
        "--files",
        "-c",
        "--count",
        "-q",
        "--quiet",
    )
    for path in operands:
        if recursive:
            call.read_tree(path)
        elif not (listing and PATH in path):
            call.read(path)
    if recursive and not operands and call.stdin.kind == "none":
        call.read_tree(".")
    if recursive and not listing and any(pattern in ("", ".", ".*", "^", "$") for pattern in patterns):
        call.high("reads every file of a folder")
    if recursive and not listing and any(_HUNTING.search(pattern) for pattern in patterns):
        if any("PRIVATE KEY" in pattern or "AKIA" in pattern for pattern in patterns):
            call.high("searches for keys")
        else:
            call.medium("searches for passwords or keys")
    if call.has("-l", "--files-with-matches", "-L", "--files"):
        return Flow("pipe", line=PATH)
    if call.has("-n", "--line-number") and len(operands) < 2 and not recursive:
        return Flow("pipe", line=NUM + ":" + ANY, taints=frozenset(["data"]))
    if call.has("-c", "--count") and len(operands) < 2:
        return Flow("pipe", line=NUM, safe=True)
    if operands or recursive:
        return Flow("pipe", taints=frozenset(["data"]))
    line = call.stdin.line
    if is_literal(line) or any(_KEY_LIKE.search(pattern) for pattern in patterns):
        line = ANY  # what is picked out may well be a key
    return Flow("pipe", line=line, taints=call.stdin.taints, safe=call.stdin.safe)


@handles("ls")
def ls(call: Call) -> Flow:
    operands = call.operands
    long = call.has("-l", "-g", "-o", "-n", "-a", "-A", "--all", "--almost-all")
    if long or len(operands) > 1 or call.has("-R", "--recursive"):
        return Flow("pipe", line=ANY if long else PATH)
    if operands and (
        any(char in operands[0] for char in GLOB) or paths.is_credential(operands[0], call.scan.rules)
    ):
        return Flow("pipe", line=operands[0])
    return Flow("pipe", line=NAME if not operands else PATH)


@handles("basename")
def basename(call: Call) -> Flow:
    word = call.operands[0] if call.operands else ANY
    if is_literal(word):
        name = word.rstrip("/").rpartition("/")[2]
        if len(call.operands) == 2:
            name = name.removesuffix(call.operands[1])
        return Flow("pipe", line=name or "/")
    return Flow("pipe", line=ANY if is_unknown(word) else NAME)


@handles("dirname")
def dirname(call: Call) -> Flow:
    word = call.operands[0] if call.operands else ANY
    if is_literal(word):
        return Flow("pipe", line=word.rpartition("/")[0] or (word[:1] if word[:1] == "/" else "."))
    return Flow("pipe", line=ANY if is_unknown(word) else PATH)


@handles("readlink")
def readlink(call: Call) -> Flow:
    words = call.operands
    return Flow("pipe", line=words[0] if len(words) == 1 and is_literal(words[0]) else PATH)


@handles("mktemp")
def mktemp(call: Call) -> Flow:
    folder = call.value("-p", "--tmpdir")
    for word in call.operands:
        if "/" in word:
            call.write(word)
    if folder is not None:
        call.write(folder + "/x")
        return Flow("pipe", line=folder + "/" + NAME)
    if call.operands and is_literal(call.operands[0]):
        template = re.sub(r"X{3,}", NAME, call.operands[0])
        return Flow("pipe", line=("/tmp/" + template) if call.has("-t") else template)  # noqa: S108
    return Flow("pipe", line="/tmp/" + NAME)  # noqa: S108


@handles("which")
def which(call: Call) -> Flow:
    return Flow("pipe", line="/usr/bin/" + NAME)


@handles("pwd")
def pwd(call: Call) -> Flow:
    return Flow("pipe", line=call.scan.folders[0] if len(call.scan.folders) == 1 else PATH)


def field(line: str, delimiter: str | None, number: int) -> str:
    """Return what is known of a field: something only when all before it is known well enough to count."""
    pieces = line.split(delimiter)
    if 0 < number <= len(pieces) and not any(is_unknown(piece) for piece in pieces[:number]):
        return pieces[number - 1]
    return ANY


@handles("cut")
def cut(call: Call) -> Flow:
    files = list(call.operands)
    for path in files:
        call.read(path)
    if not files and call.stdin.line in (NUM, NAME):
        return Flow("pipe", line=call.stdin.line, safe=call.stdin.safe)
    if not files and (call.value("-f", "--fields") or "").isdigit():
        piece = field(
            call.stdin.line, call.value("-d", "--delimiter") or "\t", int(call.value("-f", "--fields") or 1)
        )
        return Flow("pipe", line=piece, taints=call.stdin.taints, safe=call.stdin.safe)
    return filtered(call, files)


@handles("tr")
def tr(call: Call) -> Flow:
    line = call.stdin.line
    taints = call.stdin.taints
    if line in (NUM, NAME):
        return Flow("pipe", line=NAME, taints=taints, safe=call.stdin.safe)
    letters = call.operands[:1]
    if call.has("-d", "-c", "-C") or (letters and len(letters[0]) <= 4):
        return Flow("pipe", taints=taints, safe=call.stdin.safe)
    return Flow("pipe", taints=taints | {"decoded"}, safe=call.stdin.safe)


@handles("uniq")
def uniq(call: Call) -> Flow:
    files = call.operands[:1]
    if files and files != ["-"]:
        return Flow("pipe", taints=frozenset(["data"]))
    return Flow("pipe", line=call.stdin.line, taints=call.stdin.taints, safe=call.stdin.safe)


@handles("seq")
def seq(call: Call) -> Flow:
    return Flow("pipe", line=NUM, safe=True)


@handles("wc")
def wc(call: Call) -> Flow:
    # With a file the count is followed by its name.
    if call.operands:
        return Flow("pipe", line=NUM + " " + PATH, taints=frozenset(["data"]))
    return Flow("pipe", line=NUM, safe=True)


@handles("hash-text")
def digest(call: Call) -> Flow:
    return Flow("pipe", line=ANY, taints=frozenset(["data"]) if call.operands else call.stdin.taints)


@handles("base64")
def base64(call: Call) -> Flow:
    for path in call.operands:
        call.read(path)
    decode = call.has("-d", "-D", "--decode", "-di")
    taints = call.stdin.taints | (frozenset(["data"]) if call.operands else frozenset())
    return Flow("pipe", taints=taints | (frozenset(["decoded"]) if decode else frozenset()))


@handles("xxd")
def xxd(call: Call) -> Flow:
    if call.operands:
        call.read(call.operands[0])
    for path in call.operands[1:]:
        call.write(path)
    taints = call.stdin.taints | (frozenset(["data"]) if call.operands else frozenset())
    return Flow("pipe", taints=taints | (frozenset(["decoded"]) if call.has("-r") else frozenset()))


@handles("man")
def man(call: Call) -> Flow:
    for word in call.operands:
        if "/" in word or not is_literal(word) and SPLIT in word:
            call.high("formats a file of unknown origin", word)
    return Flow("pipe")


@handles("pager")
def pager(call: Call) -> Flow | None:
    """`less +COMMAND` types a command at its start."""
    for word in call.operands:
        if word.startswith("+") and not re.fullmatch(r"\++(?:\d*[GgF]?|/[^!|]*)", word):
            call.high("types commands into a pager", word)
    return None


@handles("split")
def split(call: Call) -> Flow:
    for path in call.operands[:1]:
        call.read(path)
    call.write((call.operands[1] if len(call.operands) > 1 else "x") + STAR)
    return Flow("pipe")
