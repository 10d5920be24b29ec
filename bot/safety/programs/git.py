"""What git's options and refspecs mean."""

import re

from bot.messages import Risk
from bot.safety import network
from bot.safety.flow import Flow
from bot.safety.judge import Call, handles
from bot.safety.programs.find import found_by
from bot.safety.words import ANY, NAME, NUM, PATH, is_literal, is_unknown

_MAIN = frozenset("main master production prod release stable trunk develop".split())
_SAFE_KEYS = re.compile(
    r"(?i)(?:user\.(?:name|email)|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|init\.defaultbranch|fetch\.prune|rebase\.autostash|merge\.ff|"
    r"color\.\w+(?:\.\w+)?|core\.(?:autocrlf|eol|filemode|ignorecase|quotepath|longpaths)|branch\.[\w./\-]+\.(?:remote|merge|rebase|description)|log\.\w+|diff\.(?:renames|algorithm|context)|advice\.\w+|help\.autocorrect_none)"
)


@handles("git-push")
def push(call: Call) -> Flow:
    dry = call.has("-n", "--dry-run")
    if call.has("-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--prune"):
        call.high("rewrites shared git history")
    if call.has("-d", "--delete"):
        call.high("deletes a branch others use")
    if call.has("--all", "--tags", "--follow-tags", "--branches") and not dry:
        call.high("publishes every branch or tag")
    if call.operands:
        judge_remote(call, call.operands[0])
    for spec in call.operands[1:]:
        if spec.startswith("+"):
            call.high("rewrites shared git history", spec)
        elif spec.startswith(":"):
            call.high("deletes a branch others use", spec)
        elif is_unknown(spec):
            call.high("pushes to a branch computed at run time", spec)
        elif spec.rpartition(":")[2].removeprefix("refs/heads/") in _MAIN and not dry:
            call.high("pushes to a branch that is deployed from", spec)
    if not dry:
        call.medium("publishes commits")
        if len(call.operands) < 2:
            call.medium("publishes the current branch, whichever it is")
    return Flow("pipe")


def judge_remote(call: Call, remote: str) -> None:
    """A remote may be a name, or an address that git starts a helper for."""
    if "::" in remote or remote.startswith(("ext:", "-")):
        call.high("an address that makes git run a program", remote)
    elif is_unknown(remote) and not re.match(r"https://[\w.\-]+/", remote):
        call.high("a git address computed at run time", remote)
    elif "://" in remote:
        network.judge_url(call.scan, remote)


@handles("git-fetch")
def fetch(call: Call) -> Flow:
    for word in call.operands[:1]:
        judge_remote(call, word)
    for word in call.operands[1:]:
        if word.startswith("+"):
            call.find(Risk.MEDIUM, "overwrites local branches", word)
    return Flow("pipe")


@handles("git-clone")
def clone(call: Call) -> Flow:
    for word in call.operands[:1]:
        judge_remote(call, word)
    folder = (
        call.operands[1:2] or [re.sub(r"(?:\.git)?/*\Z", "", "".join(call.operands[:1])).rpartition("/")[2]]
    )[0]
    if folder:
        call.write(folder.rstrip("/") + "/x")
        call.scan.fetch_into(folder)
    for name, value in call.options:
        if name in ("-c", "--config") and value:
            call.high("changes git's helpers (pager, hooks, ssh command)", value)
    return Flow("pipe")


@handles("git-config")
def config(call: Call) -> Flow:
    words = list(call.operands)
    if words[:1] == ["get"]:
        return Flow("pipe")
    if words[:1] == ["list"]:
        return Flow("pipe")
    if call.has(
        "--get",
        "--get-all",
        "--get-regexp",
        "-l",
        "--list",
        "--get-urlmatch",
        "--name-only",
        "--show-origin",
        "--show-scope",
    ):
        if any(re.search(r"(?i)password|token|credential|extraheader", word) for word in words):
            call.high("reads a credential file")
        if len(words) <= 2:
            return Flow("pipe")
    if call.has("--global", "--system"):
        call.high("changes git's settings for everything")
    if words[:1] == ["set"]:
        words.pop(0)
    if len(words) == 1 and not call.has(
        "--unset",
        "--unset-all",
        "--remove-section",
        "--rename-section",
        "-e",
        "--edit",
        "--add",
        "--replace-all",
    ):
        if re.search(r"(?i)password|token|credential|extraheader", words[0]):
            call.high("reads a credential file")
        return Flow("pipe")
    key = words[0] if words else ""
    if call.has("-e", "--edit"):
        call.high("opens an editor")
    elif _SAFE_KEYS.fullmatch(key):
        call.medium("changes git's settings", key)
    else:
        call.high("changes git's helpers (pager, hooks, ssh command)", key)
    return Flow("pipe")


_LIST_OPTIONS = (
    "-a", "--all", "-r", "--remotes", "-v", "-vv", "--list", "-l", "--show-current", "--contains",
    "--no-contains",
    "--merged",
    "--no-merged", "--sort", "--format", "--points-at", "--column", "--no-column", "-i", "--ignore-case",
    "--color", "--no-color", "-n",
)  # fmt: skip


@handles("git-branch")
def branch(call: Call) -> Flow:
    """branch and tag: without names, or with a listing option, they list."""
    listing = call.has(
        "--list",
        "-l",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--show-current",
    )
    if call.program == "git" and call.verb == "tag" and call.has("-n"):
        listing = True
    if call.has("-D", "-M", "-C", "-f", "--force"):
        call.high("deletes or replaces a branch")
    elif call.has("-d", "--delete"):
        call.medium("deletes a branch that is merged") if call.verb == "branch" else call.medium(
            "deletes a tag"
        )
    elif call.has(
        "-m",
        "--move",
        "-c",
        "--copy",
        "-u",
        "--set-upstream-to",
        "--unset-upstream",
        "--edit-description",
        "-t",
        "--track",
    ):
        call.medium("changes a branch")
    elif call.operands and not listing:
        call.medium(f"makes a {call.verb}")
    elif not listing and not all(name in _LIST_OPTIONS for name, _ in call.options):
        call.medium(f"changes a {call.verb}")
    return Flow("pipe", line=PATH if not call.has("--show-current") else NAME)


@handles("git-remote")
def remote(call: Call) -> Flow:
    words = call.operands
    if not words or words[0] in ("show", "get-url"):
        return Flow("pipe")
    if words[0] in ("update", "prune"):
        call.medium("fetches from other machines")
    elif words[0] == "add":
        call.medium("adds a git remote")
        for word in words[2:3]:
            judge_remote(call, word)
    elif words[0] in ("remove", "rm", "rename", "set-url", "set-head", "set-branches"):
        call.high("changes where git pushes to")
        for word in words[2:3]:
            judge_remote(call, word)
    else:
        call.high("unknown sub-command of git remote", words[0])
    return Flow("pipe")


@handles("git-checkout")
def checkout(call: Call) -> Flow:
    if call.has("-f", "--force", "-B", "-C", "--discard-changes"):
        call.high("throws away changes that are not committed")
    dashes = "--" in call.args
    if (
        dashes
        and call.args.index("--") < len(call.args) - 1
        or any(
            word in (".", "./", ":/") or "/" in word and re.search(r"\.\w{1,5}\Z", word)
            for word in call.operands
        )
        or len(call.operands) > 1
        and not call.has("-b", "--track", "-t")
    ):
        call.high("throws away changes that are not committed")
    call.medium("changes the work tree")
    return Flow("pipe")


@handles("git-restore")
def restore(call: Call) -> Flow:
    if call.has("--staged", "-S") and not call.has("--worktree", "-W"):
        call.medium("changes what the next commit holds")
    else:
        call.high("throws away changes that are not committed")
    return Flow("pipe")


@handles("git-reset")
def reset(call: Call) -> Flow:
    if call.has("--hard", "--merge", "--keep"):
        call.high("throws away changes that are not committed")
    else:
        call.medium("moves the branch or changes what the next commit holds")
    return Flow("pipe")


@handles("git-commit")
def commit(call: Call) -> Flow:
    if call.has("--amend"):
        call.medium("rewrites the last commit")
    return Flow("pipe")


@handles("git-revision")
def revision(call: Call) -> Flow:
    if call.has("--show-toplevel"):
        return Flow("pipe", line=".")
    if call.has("--count"):
        return Flow("pipe", line=NUM, safe=True)
    for word in call.operands:
        path = word.partition(":")[2]
        if path and call.verb == "cat-file":
            call.read(path)
        elif call.verb in ("blame", "annotate") and is_literal(word):
            call.read(word)
    globs = [word for word in call.operands if "*" in word and is_literal(word)]
    if call.verb == "ls-files" and len(globs) == 1 == len(call.operands):
        return Flow("pipe", line=found_by(globs[0]))
    return Flow("pipe", line=NAME if call.verb in ("rev-parse", "describe", "rev-list") else PATH)


@handles("git-show")
def show_file(call: Call) -> Flow:
    """`git show REV:PATH` prints a file as it was."""
    shows = call.verb in ("show", "diff", "stash show") or call.has("-p", "-u", "--patch")
    for word in call.operands:
        path = word.partition(":")[2]
        if path and is_literal(path):
            call.read(path)
        elif shows and is_literal(word):
            call.read(word)
    return Flow("pipe", line=PATH if call.has("--name-only") else ANY, taints=frozenset(["data"]))


@handles("git-grep")
def grep(call: Call) -> Flow:
    for word in call.operands[1:]:
        call.read(word)
    return Flow("pipe", taints=frozenset(["data"]))


@handles("gh-api")
def gh_api(call: Call) -> Flow:
    method = (call.value("-X", "--method") or "GET").upper()
    if method != "GET":
        call.high(f"asks GitHub to change something ({method})")
    elif call.has("-f", "-F", "--field", "--raw-field", "--input") or any(
        "graphql" in word for word in call.operands
    ):
        call.high("sends data to GitHub")
    elif any(is_unknown(word) for word in call.operands):
        call.high("asks GitHub for an address computed at run time")
    return Flow("pipe", taints=frozenset(["network"]))
