"""Programs that talk to other machines."""

import re

from bot.messages import Risk
from bot.safety import network
from bot.safety.flow import Flow
from bot.safety.judge import Call, handles, parse_options
from bot.safety.words import NAME, is_literal, is_unknown, show

_DATA = (
    "-d", "--data", "--data-raw", "--data-ascii", "--data-binary", "--data-urlencode", "--url-query",
    "--json",
    "-F", "--form", "--form-string",
)  # fmt: skip
_SECRET_HEADER = re.compile(r"(?i)(authorization|cookie|x-api-key|x-auth|token|api-?key|secret|private)")


@handles("curl", raw=True)
def curl(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    urls = [*call.operands, *(value or "" for name, value in call.options if name == "--url")]
    if not urls:
        if not call.has("--version", "-V", "--help", "-h", "-M", "--manual"):
            call.high("curl without an address")
        return Flow("pipe")
    local = False not in [network.judge_url(call.scan, url) for url in urls]
    target = show(urls[0])
    for name, value in call.options:
        value = value or ""
        if name in _DATA:
            if (
                value.startswith("@")
                or "=@" in value
                or "=<" in value
                or re.match(r"[\w\-]+@", value)
                and name == "--data-urlencode"
            ):
                path = re.split(r"[@<]", value, maxsplit=1)[1].split(";")[0]
                call.read(path)
                if not local or path == "-":
                    call.find(
                        Risk.MEDIUM if local else Risk.HIGH, "sends local data to another machine", target
                    )
                    continue
            if is_unknown(value) and not local:
                call.high("sends computed text to another machine", target)
            elif call.has("-G", "--get") and not local and len(value) < network.LONGEST_QUERY:
                continue
            else:
                call.find(Risk.MEDIUM if local else Risk.HIGH, "sends data to a host", target)
        elif name in ("-T", "--upload-file"):
            call.read(value)
            call.find(Risk.HIGH, "sends local data to another machine", f"{value} {target}")
        elif name in ("-X", "--request"):
            if value.upper() not in ("GET", "HEAD", "OPTIONS"):
                risk = Risk.HIGH if not local or value.upper() == "DELETE" else Risk.MEDIUM
                call.find(risk, f"asks a host to change something ({show(value)})", target)
        elif name in ("-H", "--header", "-A", "--user-agent", "-e", "--referer", "--proxy-header"):
            if value.startswith("@"):
                call.read(value[1:])
                call.high("sends local data to another machine", value)
            elif not is_literal(value) and not local:
                call.high("sends computed text to another machine", value)
            elif name in ("-H", "--header") and _SECRET_HEADER.search(value.partition(":")[0]):
                call.find(Risk.MEDIUM if local else Risk.HIGH, "sends a key to a host", target)
        elif name in ("-u", "--user", "--oauth2-bearer", "-U", "--proxy-user"):
            call.find(Risk.MEDIUM if local else Risk.HIGH, "sends a password to a host", target)
        elif name in ("-b", "--cookie"):
            if "=" not in value:
                call.read(value)
            call.find(Risk.MEDIUM if local else Risk.HIGH, "sends cookies to a host", target)
        elif name in ("-w", "--write-out"):
            if value.startswith("@"):
                call.read(value[1:])
            if "%output{" in value or is_unknown(value):
                call.high("writes a file named in its format", value)
        elif name in ("-o", "--output"):
            if "#" in value or is_unknown(value):
                call.high("writes to a path computed at run time", value)
        elif name in ("-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"):
            call.medium("writes a file fetched from the network", target)
            for url in urls:
                call.write("./" + (re.split(r"[?#]", url)[0].rpartition("/")[2] or "x"))
        elif name in ("-c", "--cookie-jar", "-D", "--dump-header") and value != "-":
            call.write(value)
        elif name in ("--connect-to", "--resolve", "--interface", "--dns-servers", "--doh-url") and not local:
            call.medium("connects elsewhere than the address says", value)
    if call.stdin.taints & {"secret"}:
        call.high("sends local data to another machine", target)
    return Flow("pipe", taints=frozenset(["network"]))


@handles("wget", raw=True)
def wget(call: Call) -> Flow:
    parse_options(call, call.spec, call.args)
    if not call.operands:
        if not call.has("--version", "-V", "--help", "-h"):
            call.high("wget without an address")
        return Flow("pipe")
    for url in call.operands:
        network.judge_url(call.scan, url)
    target = show(call.operands[0])
    method = (call.value("--method") or "GET").upper()
    if method not in ("GET", "HEAD"):
        call.high(f"asks a host to change something ({show(method)})", target)
    for name, value in call.options:
        if name == "--header" and value:
            if not is_literal(value):
                call.high("sends computed text to another machine", value)
            elif _SECRET_HEADER.search(value.partition(":")[0]):
                call.high("sends a key to a host", target)
    output = call.value("-O", "--output-document")
    if output is not None:
        if output not in ("-", "/dev/stdout"):
            call.write(output)
    elif not call.has("--spider"):
        folder = call.value("-P", "--directory-prefix") or "."
        call.write(folder + "/x")
        for url in call.operands:
            name = re.split(r"[?#]", url)[0].rpartition("/")[2] or "index.html"
            call.write(f"{folder}/{name}")
        call.medium("writes a file fetched from the network", target)
    return Flow("pipe", taints=frozenset(["network"]))


@handles("nc")
def netcat(call: Call) -> Flow:
    if call.has("-l", "--listen"):
        call.high("opens a port to the network")
    elif call.has("-z"):
        for host in call.operands[:1]:
            network.judge_host(call.scan, host)
    elif call.has("-h", "--help", "--version"):
        pass
    else:
        local = False not in [network.judge_host(call.scan, host) for host in call.operands[:1]]
        if call.stdin.kind in ("none", "null") or (local and not call.stdin.taints):
            call.medium("opens a network connection")
            if not local:
                call.high("opens a network connection")
        else:
            call.high("sends local data to another machine")
    return Flow("pipe", taints=frozenset(["network"]))


# A backend made up on the spot, or options for a named one, may run any program (rclone.org/docs, "Connection
# strings"); `multi:` reads such addresses from a file (duplicity).
_MADE_UP = re.compile(
    r"(?:rclone:(?://)?)?(?::|[^/:]*,.*:)|multi:|(?:(?:[\w+]+:)?//|sftp:)?(?:[^/@:]*@)?-", re.DOTALL
)


@handles("remotes")
def remotes(call: Call) -> Flow:
    """rclone, restic, borg, duplicity: the name of a remote or repository may itself run a program."""
    places = [value for name, value in call.options if name in ("-r", "--repo") and value]
    if not call.spec.verbs:
        places += call.operands
    for place in places:
        if _MADE_UP.match(place):
            call.high("may run a program to reach a remote", place)
        elif is_unknown(place[:1]):
            call.high("reaches a remote computed at run time", place)
    return Flow("pipe", taints=frozenset(["network"]))


@handles("lookup")
def look_up(call: Call) -> Flow:
    """dig, host, nslookup, ping, whois, traceroute: a name that leaves the machine."""
    for word in call.operands:
        if word.startswith("+") or word.upper() in (
            "A", "AAAA", "MX", "NS", "TXT", "SOA", "CNAME", "PTR", "SRV", "CAA",
            "ANY", "DS", "DNSKEY", "IN", "AXFR",
        ):  # fmt: skip
            continue
        network.judge_host(call.scan, word.removeprefix("@"))
    return Flow("pipe", taints=frozenset(["network"]))


@handles("ssh", raw=True)
def ssh(call: Call) -> Flow:
    if call.args in (["-V"], ["-Q", "cipher"], ["-Q", "mac"], ["-Q", "kex"], ["-Q", "key"]):
        return Flow("pipe")
    call.high("runs commands on another machine")
    return Flow("pipe", taints=frozenset(["network"]))


def is_remote(word: str) -> bool:
    return "://" in word or ":" in word.partition("/")[0] or is_unknown(word.partition("/")[0])


@handles("rsync")
def rsync(call: Call) -> Flow:
    if any(is_remote(word) for word in call.operands):
        call.high("copies files to or from another machine")
        return Flow("pipe")
    if call.has("--remove-source-files"):
        call.high("deletes the files it copies")
    dry = call.has("-n", "--dry-run", "--list-only")
    if dry:
        call.clear()
    deletes = [name for name, _ in call.options if name.startswith("--del")]
    if deletes and not dry:
        call.high("deletes files that are missing in the source")
    for path in call.operands[:-1]:
        call.read_tree(path)
    if len(call.operands) > 1 and not dry:
        call.write(call.operands[-1])
    return Flow("pipe")


@handles("scp")
def scp(call: Call) -> Flow:
    call.high("copies files to or from another machine")
    for word in call.operands:
        if not is_remote(word):
            call.read(word)
    return Flow("pipe")


@handles("mail")
def mail(call: Call) -> Flow:
    if call.has("-a", "-A", "--attach", "-r", "-S"):
        call.high("sends local data by mail")
    for word in call.operands:
        if "@" in word or is_unknown(word):
            call.high("sends mail to another machine", word)
    if not call.operands:
        call.high("reads or sends mail")
    if call.stdin.taints or call.stdin.kind == "file":
        call.find(Risk.MEDIUM, "sends local data by mail")
    return Flow("pipe")


_KEY_VERBS = frozenset(
    ["rsa", "ec", "dsa", "pkey", "pkcs12", "pkcs8", "genrsa", "genpkey", "ecparam", "dsaparam", "gendsa"]
)


@handles("openssl", raw=True)
def openssl(call: Call) -> Flow:
    if not call.args:
        call.high("openssl without a command")
        return Flow("pipe")
    verb, *args = call.args
    banned = {
        "-engine",
        "-provider",
        "-provider-path",
        "-config",
        "-rand",
        "-writerand",
        "-loadprivkey",
        "-keylogfile",
        "-psk",
        "-sess_out",
        "-msgfile",
    }
    for word in args:
        if word in banned or not is_literal(word) and is_unknown(word) and word[0] in "\x00\x08":
            call.high("an option of openssl that loads code or writes keys", word)

    def value(name: str) -> str | None:
        return args[args.index(name) + 1] if name in args and args.index(name) + 1 < len(args) else None

    out = value("-out")
    if verb == "version" or verb in ("ciphers", "list", "help", "speed", "errstr", "prime"):
        return Flow("pipe")
    if out is not None:
        call.write(out)
    if verb in ("x509", "crl", "verify", "asn1parse", "crl2pkcs7", "pkcs7", "ocsp"):
        if {"-signkey", "-CAkey", "-req", "-key"} & set(args):
            call.high("uses a private key")
        if verb == "ocsp" and value("-url") is not None:
            network.judge_url(call.scan, value("-url") or "")
        path = value("-in")
        if path and re.search(r"(?:key|id_)[^/]*\Z", path):
            call.read(path)
        return Flow("pipe", taints=call.stdin.taints - {"network"})
    if verb == "req":
        if {"-new", "-x509", "-newkey", "-keyout", "-key", "-nodes"} & set(args):
            call.high("makes or uses a private key")
        return Flow("pipe")
    if verb in ("dgst", "sha256", "sha1", "md5", "sha512", "sha384"):
        if {"-sign", "-hmac", "-prverify", "-macopt", "-mac"} & set(args):
            call.high("uses a private key")
        for word in args:
            if not word.startswith("-") and word != out:
                call.read(word)
        return Flow("pipe", line=NAME)
    if verb == "rand":
        return Flow("pipe", line=NAME)
    if verb in ("enc", "base64", "aes-256-cbc", "des3"):
        path = value("-in")
        if path is not None:
            call.read(path)
        secret = {"-k", "-K", "-pass", "-kfile", "-pbkdf2"} & set(args) or verb not in ("enc", "base64")
        if secret:
            call.find(Risk.MEDIUM, "encrypts or decrypts with a password")
        if value("-pass") is not None and re.match(r"(?:file|env|fd):", value("-pass") or ""):
            call.high("reads a password", value("-pass"))
        decoded = frozenset(["decoded"]) if "-d" in args else frozenset(["data"] if path else [])
        return Flow("pipe", taints=call.stdin.taints | decoded)
    if verb == "s_client":
        host = (value("-connect") or value("-host") or "").rpartition(":")[0]
        for name in ("-connect", "-proxy", "-servername"):
            named = value(name)
            if named is not None:
                network.judge_host(call.scan, re.sub(r":[0-9a-z\x01\x02]*\Z", "", named))
        if {"-cert", "-key", "-pass", "-proxy_pass"} & set(args):
            call.high("uses a private key")
        if (
            call.stdin.taints
            or call.stdin.kind == "file"
            or is_unknown(call.stdin.text)
            and call.stdin.kind == "text"
        ):
            call.high("sends local data to another machine", host)
        elif len(call.stdin.text) > 200 or is_unknown(call.stdin.text) and call.stdin.kind == "pipe":
            call.medium("sends text to another machine", host)
        return Flow("pipe", taints=frozenset(["network"]))
    if verb in _KEY_VERBS:
        if "-pubin" in args and "-noout" in args:
            return Flow("pipe")
        call.high("makes or reads a private key")
        return Flow("pipe")
    call.high(f"unknown sub-command of openssl: {show(verb)}")
    return Flow("pipe")


@handles("talks")
def talks(call: Call) -> Flow:
    """Clients whose operands are addresses: what they fetch came from the network."""
    return Flow("pipe", taints=frozenset(["network"]))
