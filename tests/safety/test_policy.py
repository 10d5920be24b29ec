"""How a command would be judged, in words; nothing runs."""

from pathlib import Path

from bot.safety import describe, load_rules


def test_it_says_level_reasons_rules_programs_and_tree(tmp_path: Path) -> None:
    text = describe("rm -rf build", cwd=str(tmp_path))

    assert text.splitlines()[0] == "HIGH: asks with a card"
    assert "• deletes files recursively: rm -rf build" in text
    assert "• files.toml: program.rm (high): deletes files recursively: rm -rf build" in text
    assert "Second step: none" in text
    assert f"Grant: possible: exactly this command in {tmp_path}" in text
    assert "Programs:\n• rm -rf build" in text
    assert "Tree: (program (command" in text
    assert len([line for line in text.splitlines() if line.startswith("Tree:")]) == 1


def test_it_says_why_no_grant_can_cover_it_and_what_undoes_it(tmp_path: Path) -> None:
    text = describe("sudo ufw enable", cwd=str(tmp_path))

    assert "Second step: a code, for it changes the firewall" in text
    assert "Undo: sudo ufw disable" in text
    assert "Grant: none possible: changes the firewall" in text


def test_what_is_low_says_so_and_offers_nothing(tmp_path: Path) -> None:
    text = describe("ls -l", cwd=str(tmp_path))

    assert text.startswith("LOW: runs unasked")
    assert "Grant" not in text


def test_it_runs_nothing(tmp_path: Path) -> None:
    describe(f"touch {tmp_path}/ran; $(touch {tmp_path}/ran)", cwd=str(tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_a_script_behind_it_is_named(tmp_path: Path) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text("x")
    rules = tmp_path / "rules.d"
    rules.mkdir()

    text = describe("./deploy.sh && rm -rf build", cwd=str(tmp_path), rules=load_rules(rules))

    assert f"while {script} stays as it is" in text


def test_broken_rules_of_the_operator_are_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("nonsense")

    text = describe("ls", cwd="/", rules=load_rules(tmp_path))

    assert text.startswith("HIGH")
    assert "mine.toml" in text
