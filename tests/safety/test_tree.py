"""Where the grammar and bash part ways: each text here is read wrongly by the grammar alone."""

import pytest

from bot.safety import Risk, classify
from bot.safety.tree import outline, parse, survey
from bot.safety.words import expand_braces, read_unquoted


@pytest.mark.parametrize(
    "text",
    [
        "ls &&",
        "ls )",
        "ls ;; id",
        "cat <<A <<B\na\nA\nb\nB",
        "ls & ;",
        "A`ls`B",
        "x=(ls)rm y",
        "[[-f x ]]",
        "x=$ rm y",
        "1=rm",
        "[[ -f ]]#x ]] || rm y",
        'for x in "${x:+`rm y`}"; do ls; done',
        "! file 'a b' | who x | file ~\n! df 'a b' a#b\ntime uname $'x' $# 2>&1",
        "echo $(( 1 + $(case x in ls) rm y;; esac) ))",
        'ls $"a"',
        "{ls; }",
        "[-z * ]",
        "[ -z *]",
        "cat <<-EOF\n\t$(rm y)\n\tEOF",
        "cat @<<EOF\n${x} a\\ b\nEOF\nrm y",
        "cat <<EOF\na\\\nEOF\nrm y\nEOF",
        "(" * 100 + "ls" + ")" * 100,
        # found by the fuzz: keywords glued to a quote …
        "unset'EOF' ",
        "unset'EOF'test realpath&>EOFx+=exec ",
        # … and code after the blanks that begin a line of a here-document
        "(( x=1 )) ; cat << EOF\n\t\n $(if stat x; then ls; else $'x' $hen $'x'; fi) \"$x\"\n"
        ' "${x[@]}"\nEOF\nnproc >> y',
        "x=($# {x,y}); cat <<-EOF\n \n\t$(-l x=y &\nwc) \"$(( who 'a b' ))\"\nEOF\nwc a\\ b",
        "(( x=1 )) ; cat <<EOF | sort\n $(if zz {x,y} $'x'; then stat $x < x; else time realpath $x $x; fi)\n"
        "EOF\nnproc $x",
        "{ cat <<EOF\n $(if stat; then \"$x\" $'x'; else time du; fi)\nEOF\nfile 'a b' a#b; }",
        "cat <<EOF\n ${x:-`rm y`} $x\nEOF",
        # a process substitution glued to a word in a test is no comparison
        "cat << EOF\n\t\n\t\nEOF\n[[ -z command<($#) ]] || builtin file",
        "[[ -z x<(rm) ]]",
        "[[ a == x>(rm) ]]",
    ],
)
def test_a_tree_that_bash_would_not_share_is_refused(text: str) -> None:
    data = text.encode()

    assert survey(parse(data), data).problems


@pytest.mark.parametrize(
    "text",
    [
        "ls -la | head -5 && df -h",
        'for f in a b; do wc -l "$f"; done',
        "case $x in a|b) ls;; *) df;; esac",
        "cat <<EOF | sort > x\n$(date) $x\nEOF",
        "echo $(( (1 + 2) * 3 ))",
        "f() { ls; }; f",
        'x=(a b); echo "${x[@]}"',
        "ls \\\n  -la # why\ndf",
        "{ ls; } 2>&1",
        "[[ -f a && $x == *.py ]]",
        "unset x; export y=1; declare -r z",
        "cat <<EOF\n indented $x\n\tcosts \\$5\nEOF",
    ],
)
def test_an_ordinary_tree_is_trusted(text: str) -> None:
    data = text.encode()

    assert survey(parse(data), data).problems == []


def test_an_outline_is_one_line_of_named_nodes() -> None:
    assert outline(parse(b"ls -l | wc")) == (
        "(program (pipeline (command (command_name (word)) (word)) (command (command_name (word)))))"
    )


@pytest.mark.parametrize(
    "command", ["[ -n\nrm -rf /srv ]", "[ -n\n ${1:-rm} ]", "[ a = b\nrm x ]", "[[ -n\nrm x ]]"]
)
def test_a_test_ends_with_its_line(command: str) -> None:
    assert classify(command).risk is Risk.HIGH


@pytest.mark.parametrize(
    "command",
    [
        "[[ -n a ||\n -n b ]] && ls",
        "[[ ( -n a\n) ]] && ls",
        "[ -f x ] &&\n[ -f y ] && ls",
        "[ -f x ] \\\n && ls",
    ],
)
def test_a_test_goes_on_in_the_next_line_where_bash_says_so(command: str) -> None:
    assert classify(command).risk is Risk.LOW


def test_blanks_before_an_expansion_in_a_string_are_text() -> None:
    assert classify('cat " $(echo ab)"').invocations[-1].arguments == (" ab",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{x,y}x,y}", ["xx", "yx", "y"]),
        ("a{b,c}d", ["abd", "acd"]),
        ("{a}", ["{a}"]),
        ("{a,b}}", ["a}", "b}"]),
    ],
)
def test_braces_make_the_words_that_bash_makes(text: str, words: list[str]) -> None:
    assert expand_braces(read_unquoted(text)) == words
