"""The little languages: sed, awk, SQL."""

import pytest

from bot.messages import Risk
from bot.safety.programs.databases import strip_sql
from bot.safety.programs.text import read_awk, read_sed


@pytest.mark.parametrize(
    "script",
    [
        "10,20p", "s/a/b/g", "/^#/d", "$!N;P;D", "/a/,/b/{s/x/y/;p}", "1~2d", "0,/x/s//y/",
        "y/abc/xyz/", "s|/a|/b|2p",
        "/x/I,+3p", "2i\\hello", "a\\\nline", "5q", ":a;N;$!ba;s/\\n/ /g", "s/e/w/;s/r/e/", "\\,a,p",
        "s/[/]/x/", "$=", "l 5",
    ],
)  # fmt: skip
def test_a_sed_script_that_only_prints_is_silent(script: str) -> None:
    assert read_sed(script) == []


@pytest.mark.parametrize(
    "script",
    ["1e id", "e", "s/x/id/e", "s/x/id/ge", "s/x/y/gpe", "$!{e id\n}", "/x/ e id", "1,3!e id", "s,a,b,e"],
)
def test_a_sed_script_that_runs_code_is_high(script: str) -> None:
    assert Risk.HIGH in [risk for risk, _, _ in read_sed(script)]


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("w /etc/x", "/etc/x"),
        ("s/a/b/w out", "out"),
        ("/x/W out", "out"),
        ("1r /etc/shadow", "/etc/shadow"),
        ("R f", "f"),
    ],
)
def test_a_sed_script_names_the_files_it_touches(script: str, path: str) -> None:
    assert path in [found for _, _, found in read_sed(script)]


@pytest.mark.parametrize("script", ["s/a/b", "{p", "p}", "k", "s/a/b/Z", "/x", "y/a/"])
def test_a_sed_script_that_cannot_be_read_is_high(script: str) -> None:
    assert Risk.HIGH in [risk for risk, _, _ in read_sed(script)]


@pytest.mark.parametrize(
    "script",
    [
        "{print $1}", "$9 >= 500 {c++} END {print c}", "$3 > 100 {print $1, $3}",
        "{print ($2 > 5 ? 1 : 2)}", "/a|b/ {print}",
        '{print "a > b | c"}', "NR==FNR{a[$1];next} $1 in a", "{print $1/2, $2/3}", "$1 ~ /x>y/",
        "!seen[$0]++",
        'BEGIN{while((getline line) > 0) n++}', "{ n = n / 2; print }", "# > | system\n{print}",
    ],
)  # fmt: skip
def test_an_awk_program_that_only_prints_is_silent(script: str) -> None:
    assert read_awk(script) == []


@pytest.mark.parametrize(
    "script",
    [
        'BEGIN{system("id")}', 'BEGIN { system ("id") }', '{print > "f"}', '{print $1, $2 >> "f"}',
        '{printf "%s", $1 > "f"}',
        '{print | "sh"}', '"id" | getline x', 'BEGIN{"id"|getline;print}', "BEGIN{print ENVIRON[\"K\"]}",
        'BEGIN{getline x < "/etc/shadow"}', "@load \"x\"", "BEGIN{f=\"system\";@f(\"id\")}",
        '{print "x" |& "y"}', "{print /x}",
        "BEGIN{ARGV[1]=\"/etc/shadow\"}",
    ],
)  # fmt: skip
def test_an_awk_program_that_does_more_is_seen(script: str) -> None:
    assert read_awk(script)


def test_sql_strings_are_emptied_before_the_words_are_read() -> None:
    assert strip_sql("select 'drop table x'") == "select  '' "
    assert strip_sql("select 'it''s'") == "select  '' "


@pytest.mark.parametrize("text", ["select 'a", "select 1 -- x", "select /* x */ 1", r"select 'a\'b'"])
def test_sql_that_could_be_read_two_ways_is_refused(text: str) -> None:
    assert strip_sql(text) is None
