"""Issue 4: a command is judged in a bounded number of steps, or called high."""

import time
from collections.abc import Callable

import pytest

from bot.safety import Risk, classify
from bot.safety.budget import MOST_STEPS, Budget, TooTangledError
from bot.safety.classify import judge
from bot.safety.paths import as_regex
from bot.safety.words import STAR

SLOWEST = 1.0  # seconds; twenty times what it should take, for a machine with other things to do


def repeat(piece: str, size: int, before: str = "", after: str = "") -> str:
    return before + piece * ((size - len(before) - len(after)) // len(piece)) + after


def nest(left: str, middle: str, right: str, size: int) -> str:
    times = (size - len(middle)) // (len(left) + len(right))
    return left * times + middle + right * times


def double_variables(size: int) -> str:
    return (
        "a0=x;"
        + "".join(f"a{n}=$a{n - 1}$a{n - 1};" for n in range(1, size // 16))
        + f"echo $a{size // 16 - 1}"
    )


def tangle_variables(size: int) -> str:
    count = size // 24
    lines = (f"a{n}=$a{(n + 1) % count}$a{(n + 2) % count}$a{(n + 3) % count};" for n in range(count))
    return "".join(lines) + "echo $a0"


def chain_functions(size: int) -> str:
    return "".join(f"f{n}(){{ f{n + 1} $1 $1; }};" for n in range(size // 24)) + "f0 x"


GENERATORS: dict[str, Callable[[int], str]] = {
    "braces": lambda size: repeat("{a,b}", size, "echo "),
    "braces in braces": lambda size: "echo " + nest("{a,", "b", "}", size - 5),
    "doubling variables": double_variables,
    "tangled variables": tangle_variables,
    "one variable": lambda size: repeat("a=$a$a;", size, "", "echo $a"),
    "functions": chain_functions,
    "xargs": lambda size: repeat("xargs ", size, "", "ls"),
    "env": lambda size: repeat("env A=b ", size, "", "ls"),
    "wrappers": lambda size: repeat("timeout 5 nice nohup ", size, "", "ls"),
    "pipes": lambda size: repeat("cat|", size, "", "cat"),
    "pipes beside a here-document": lambda size: repeat("cat|", size, "cat <<E\nx\nE\n", "cat"),
    "an open here-document": lambda size: repeat("f|", size, "<<E "),
    "here-documents": lambda size: repeat("cat <<E\nx\nE\n", size),
    "here-document": lambda size: repeat("$x\n", size, "cat <<E\n", "E\n"),
    "list": lambda size: repeat("ls;", size),
    "redirections": lambda size: "ls " + "".join(f">a{n} " for n in range(size // 7)),
    "arguments": lambda size: "rm " + "".join(f"a{n} " for n in range(size // 6)),
    "stars": lambda size: repeat("*", size, "cat ", "z"),
    "globs": lambda size: "cat " + "".join(f"*{n}*?* " for n in range(size // 9)),
    "substitutions": lambda size: "echo " + nest("$(echo ", "x", ")", size - 5),
    "defaults": lambda size: "echo " + nest("${x:-", "y", "}", size - 5),
    "subshells": lambda size: nest("(", "ls", ")", size),
    "ifs": lambda size: nest("if ls; then ", "ls", "; fi", size),
    "loops": lambda size: nest("for i in a b; do ", "ls $i", "; done", size),
    "cases": lambda size: repeat("x) ls;;", size, "case x in ", " esac"),
    "arithmetic": lambda size: repeat("x+", size, "x=1; echo $((", "x))"),
    "extended globs": lambda size: repeat("@1", size // 2, "", "ls") + repeat("done;", size // 2),
    "open brackets": lambda size: repeat("x=(", size),
    "back-quotes": lambda size: repeat(">a`", size),
    "folders": lambda size: "".join(f"cd a{n};" for n in range(30)) + repeat("a ", size - 250, "rm "),
    "blanks": lambda size: "ls" + " " * size,
    "newlines": lambda size: "ls" + "\n " * (size // 2),
}


@pytest.mark.parametrize("size", [1000, 4090, 8180, 16384, 65536])
@pytest.mark.parametrize("name", GENERATORS)
def test_a_hostile_text_takes_few_steps_and_little_time(name: str, size: int) -> None:
    text = GENERATORS[name](size)
    started = time.process_time()

    verdict, scan = judge(text, "/srv/app", None)

    assert time.process_time() - started < SLOWEST
    assert scan is not None
    assert scan.budget.spent <= MOST_STEPS or verdict.risk is Risk.HIGH


@pytest.mark.parametrize("size", [16384, 65536, 4_000_000])
def test_a_text_too_long_to_read_is_high_at_once(size: int) -> None:
    verdict, scan = judge("echo " + "a" * size, None, None)

    assert verdict.risk is Risk.HIGH
    assert scan is not None
    assert scan.root is None


@pytest.mark.parametrize("name", ["doubling variables", "xargs", "env", "arguments"])
def test_a_tangled_command_says_that_it_is(name: str) -> None:
    verdict = classify(GENERATORS[name](4000))

    assert verdict.risk is Risk.HIGH
    assert not verdict.literal


def test_what_was_found_before_the_budget_ran_out_still_counts() -> None:
    verdict = classify("rm -rf /srv; rm " + "".join(f"a{n} " for n in range(650)))

    assert "too long or too tangled to judge" in verdict.reasons
    assert "deletes files recursively: rm -rf /srv" in verdict.reasons


def test_a_word_that_outgrows_a_page_is_high() -> None:
    verdict = classify("a0=x;" + "".join(f"a{n}=$a{n - 1}$a{n - 1};" for n in range(1, 30)) + "echo $a29")

    assert verdict.reasons == ("too long or too tangled to judge",)


def test_a_spent_budget_stays_spent() -> None:
    budget = Budget(most=2)
    budget.spend(2)

    for _ in range(2):
        with pytest.raises(TooTangledError):
            budget.spend(1)


def test_a_pattern_of_many_stars_is_one_of_few_that_matches_more() -> None:
    pattern = as_regex("/srv/" + STAR * 40 + "a" + STAR + "b" + STAR + "c" + STAR + "d")

    assert pattern.match("/srv/xaxbxcxd")
    assert not pattern.match("/srv/xaxbxcxe" + "x" * 30)
