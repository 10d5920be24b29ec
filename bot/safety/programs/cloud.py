"""Clouds, wallets and keyrings: what is asked is in the verb, wherever it stands."""

import re

from bot.safety.flow import Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.words import is_unknown

_READING = re.compile(
    r"(?:list|ls|get|describe|show|info|status|head|lookup|search|query|filter|tail|scan|batch-get|batch-describe|view|check|whoami|version|help|test-iam|explain|"
    r"estimate|validate|regions|sizes|projects|apps|read|ps|releases|domains|logs|account|balance|wait|generate-cli-skeleton)(?:-[\w\-]+)?\Z"
)
_SECRET = re.compile(
    r"(?i)(?:secret|password|credential|access-?key|access-?token|\btoken|keyvault|\bssm\b|parameter|kms|get-login|get-session|assume-role|print-|federation-token|"
    r"authorization|connection-string|\bkeys\b|kubeconfig|get-credentials|get-object|select-object|env\b|config:get|variables|user-?data|get-function\b|sas\b|ssh\b|cat\b|cp\b|sync\b|mv\b|download|export|presign|thing-shadow|get-sdk|get-media\b|get-clip|get-job-output|version-asset)"
)


# Options of any cloud's program that name settings, a program to run, a file to write or another server.
_ELSEWHERE = re.compile(
    r"--(?:[\w\-]*(?<!pro)file|[\w\-]*(?:config|config-dir|exec|command|plugins?|log-dir|output-dir)|"
    r"(?:api-)?endpoint(?:-url)?|api-(?:url|host)|log-http)(?:=|\Z)"
)
_SHORT_SETTINGS = {
    **dict.fromkeys(("s3cmd", "doctl", "fly", "flyctl", "wrangler"), re.compile(r"-c")),
    "mc": re.compile(r"-C"),
    "gsutil": re.compile(r"-o"),
}
_NONE = re.compile(r"(?!)")


@handles("cloud", raw=True)
def cloud(call: Call) -> Flow:
    """`SERVICE … VERB`: reading verbs are low unless what they read is a key; everything else is high."""
    if call.program == "aws":
        parse_options(call, call.spec, call.args)
    words: list[str] = []
    for word in call.args:
        if word.startswith("-"):
            if words:
                break
            continue
        if re.fullmatch(r"[a-z][a-z0-9\-_:]*", word):
            words.append(word)
        elif words:
            break
    asked = words[:5]
    # The first word names what is asked about, unless it is all there is.
    deciding = [word for word in (asked[1:] or asked) if _READING.match(word) or _CHANGING.match(word)]
    reading = bool(deciding) and _READING.match(deciding[0]) is not None
    secret = any(_SECRET.search(word) for word in asked) or (
        call.program == "heroku" and asked[:1] == ["config"]
    )
    if call.args in (["--version"], ["version"], ["--help"], ["help"]):
        call.clear()
    elif call.program in ("aws", "az", "gcloud") and len(asked) < 2:
        pass
    elif reading and not secret and not any(is_unknown(word) for word in call.args):
        # The table says high; for a question that is taken back.
        call.clear()
        for word in call.args:
            if re.match(r"(?:file|fileb)://", word) or word in (
                "--with-decryption",
                "--cli-input-json",
                "--reveal",
                "--show-secrets",
                "--impersonate-service-account",
            ):
                call.high("reads a local file or keys for the cloud", word)
            elif _ELSEWHERE.match(word) or _SHORT_SETTINGS.get(call.program, _NONE).match(word):
                call.high("loads other settings or writes a file", word)
    if (
        call.program in ("gsutil", "s3cmd", "mc", "b2")
        and asked[:1]
        and asked[0] not in ("ls", "du", "stat", "info", "version")
    ):
        call.high("copies files to or from another machine")
    return Flow("pipe", taints=frozenset(["network"]))


_CHANGING = re.compile(
    r"(?:create|delete|remove|rm|update|put|set|add|start|stop|restart|reboot|run|terminate|modify|attach|detach|deploy|apply|destroy|scale|resize|rotate|reset|enable|disable|invoke|"
    r"publish|send|transfer|purge|promote|push|register|deregister|associate|disassociate|authorize|revoke|import|restore|copy|move|upload|open|close|login|logout|auth)(?:-[\w\-]+)?\Z"
)

_WALLET_READS = re.compile(
    r"(?i)(?:balance|block|block-?number|block-?height|get(?:block|blockchain|network|mempool|peer|tx|raw(?:transaction|mempool)|best|info|connection|difficulty|mining)\w*|epoch|slot|"
    r"cluster-version|gas-price|chain-id|tx|receipt|validators|ping|transaction-count|slots?|confirm|supply|estimate|call|code|nonce|age|--version|version|-V|accounts|account|status|list|logs|ledger)\Z"
)


@handles("money", raw=True)
def money(call: Call) -> Flow:
    verbs = [word for word in call.args if not word.startswith("-")]
    if call.program == "solana-keygen":
        return Flow("pipe")
    options = [word for word in call.args if word.startswith("-")]
    if (verbs and _WALLET_READS.match(verbs[0]) or call.args in (["--version"], ["-V"])) and not any(
        re.match(r"(?i)--?(?:private-key|keypair|mnemonic|password|k\b|live)", word) for word in options
    ):
        if not any(
            re.search(r"(?i)create|send|refund|cancel|update|delete|capture", word) for word in verbs[:3]
        ):
            call.clear()
    elif (
        verbs[1:2]
        and call.program == "stripe"
        and verbs[1] in ("list", "retrieve")
        and "--live" not in options
    ):
        call.clear()
    return Flow("pipe", taints=frozenset(["network"]))


@handles("gpg", raw=True)
def gpg(call: Call) -> Flow:
    """Keys that are public, and signatures of others, may be looked at."""
    plain = [word for word in call.args if word.startswith("-")]
    allowed = re.compile(
        r"--(?:list-keys|list-public-keys|list-sigs|check-sigs|fingerprint|verify|version|keyid-format=?\w*|with-colons|batch|list-packets|dry-run|help)\Z|-k\Z"
    )
    if plain and all(allowed.match(word) for word in plain):
        call.clear()
        for word in call.args:
            if not word.startswith("-"):
                if "--verify" not in plain:
                    continue
                if not re.search(r"\.(?:asc|sig)\Z", word):
                    call.read(word)
    return Flow("pipe")


@handles("ssh-keygen", raw=True)
def ssh_keygen(call: Call) -> Flow:
    """`-l` and `-F` look at fingerprints."""
    words = call.args
    if (
        words
        and re.fullmatch(r"-[lv]+[lvE]?[f]?|-F|-lf", words[0])
        and not any(re.match(r"-[A-Za-z]*[RNpytbCDKsTcAHkIMYi]", word) for word in words)
    ):
        call.clear()
    return Flow("pipe")
