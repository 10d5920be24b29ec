"""Issue 4: whatever bash starts, the classifier has seen, or the command is high."""

from tests.safety.fuzz.run import hold_against_bash, random_texts


def test_bash_starts_nothing_that_a_passed_command_hides() -> None:
    tally = hold_against_bash(random_texts(3000, seed=20261130))

    assert tally.holes == []
    assert tally.surprises == []
    assert tally.started > 800
    # A classifier that calls everything high would pass: enough inputs must get through.
    assert tally.passed > 100
