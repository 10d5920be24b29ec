"""find and fd: what is looked for, and what is done with it."""

import re

from bot.safety import paths
from bot.safety.flow import NOTHING, Flow
from bot.safety.judge import Call, handles
from bot.safety.words import PATH, is_literal, is_unknown, may_be_option

_NO_VALUE = frozenset(
    """-a -and -o -or -not ! ( ) , -true -false -print -print0 -ls -prune -quit -depth -d -daystart -follow
    -mount -xdev
    -noleaf -empty -executable -readable -writable -nouser -nogroup -warn -nowarn -ignore_readdir_race
    -noignore_readdir_race -help -version""".split()
)
_VALUE = frozenset(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -xtype
    -size
    -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -newermt -newerct -newerat -newermm
    -user -group -uid -gid
    -perm -links -inum -samefile -maxdepth -mindepth -fstype -used -context -printf""".split()
)
_KEY_NAMES = re.compile(
    r"(?i)\*?\.?(?:id_(?:rsa|dsa|ecdsa|ed25519|\*)\*?|\*?\.(?:pem|key|p12|pfx|kdbx|ovpn|ppk|keystore|jks)|wallet(?:\.dat|\*)?|\.env\*?|"
    r"\*?\.env(?:\..*)?|\.?(?:git-)?credentials\*?|\.netrc|\.pgpass|shadow|\*secret\*|\*password\*|\*credential\*|\*?_history|\.aws|\.ssh|\.kube|\.npmrc)\Z"
)


@handles("find", raw=True)
def find(call: Call) -> Flow:
    words = list(call.args)
    starts: list[str] = []
    while words and words[0] in ("-H", "-L", "-P") or words and re.fullmatch(r"-O\d", words[0]):
        words.pop(0)
    while words and not words[0].startswith("-") and words[0] not in ("(", ")", "!", ","):
        start = words.pop(0)
        if may_be_option(start):
            call.high("an expression of find computed at run time", start)
        starts.append(start)
    starts = starts or ["."]
    names: list[str] = []
    negated = False
    actions: list[tuple[str, list[str]]] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in _NO_VALUE:
            # `-not -path X` leaves the names that are asked for; anything more tangled does not.
            following = words[index] if index < len(words) else ""
            negated = negated or word == "," or (word in ("-not", "!") and following not in _VALUE)
            if word in ("-not", "!") and following in _VALUE:
                index += 2
                continue
            names += [""] if word in ("-o", "-or") else []
            continue
        if word in _VALUE:
            value = words[index] if index < len(words) else ""
            index += 1
            if word in ("-name", "-iname", "-path", "-wholename", "-ipath"):
                names.append(value)
            continue
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner: list[str] = []
            while index < len(words) and words[index] != ";":
                if words[index] == "+" and inner[-1:] == ["{}"]:
                    break
                inner.append(words[index])
                index += 1
            index += 1
            actions.append((word, inner))
            continue
        if word == "-delete":
            call.high("deletes every file it finds")
            continue
        if word in ("-fprint", "-fprint0", "-fls"):
            call.write(words[index] if index < len(words) else "")
            index += 1
            continue
        if word == "-fprintf":
            call.write(words[index] if index < len(words) else "")
            index += 2
            continue
        if word in ("-files0-from",):
            call.read(words[index] if index < len(words) else "")
            index += 1
            continue
        if re.fullmatch(r"-newer[aBcm][aBcmt]", word):
            index += 1
            continue
        call.high("an expression of find that is not understood", word)
    # `-name A -o -name B`: every branch has to name what it finds.
    branches = "\0".join(name or "\1" for name in names).split("\1")
    named = all(branch.strip("\0") for branch in branches)
    names = [name for name in names if name]
    line = PATH
    if names and named and not negated and all(is_literal(name) and "[" not in name for name in names):
        lines = [found_by(name, start) for name in names for start in starts]
        line = max(lines, key=lambda found: paths.may_be_credential(found, call.scan.rules))
    hunted = [name for name in names if _KEY_NAMES.match(name)]
    if (
        hunted
        and not negated
        and any(start in ("/", "/home", "/root", "~", "\x04", "/etc", "/srv", "/var") for start in starts)
    ):
        call.high("looks for files that hold keys", hunted[0])
    for action, inner in actions:
        if not inner:
            call.high("an expression of find that is not understood", action)
            continue
        if not any("{}" in word for word in inner) and inner[0] not in ("echo", "printf", "true"):
            call.medium("runs a program for every file it finds")
        spots = [line]
        if line == PATH:
            spots = [*starts, *(start.rstrip("/") + "/" + PATH for start in starts)]
        for spot in spots:
            call.run([word.replace("{}", spot) for word in inner], NOTHING)
        if action in ("-execdir", "-okdir") and "/" in inner[0] and not inner[0].startswith("/"):
            call.high("runs a program from every folder it finds", inner[0])
        if len(inner) > 1 and "{}" in inner[0]:
            call.high("runs every file it finds")
    return Flow("pipe", line=line if all(not is_unknown(start) for start in starts) else PATH)


def found_by(name: str, start: str = ".") -> str:
    """Return what a lister prints for files of this name below a folder, as a word with holes."""
    tail = name.rpartition("/")[2]
    return start.rstrip("/") + "/" + PATH + re.sub(r"[*?]+", PATH, tail)


@handles("fd")
def fd(call: Call) -> Flow:
    for name, value in call.options:
        if name in ("-x", "--exec", "-X", "--exec-batch") and value:
            call.high("runs a program for every file it finds")
    return Flow("pipe", line=PATH)
