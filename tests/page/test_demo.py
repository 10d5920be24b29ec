"""A newcomer's first minutes in a real Chromium with the real bot: ask, approve, see it run, kill, go on."""

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver

from bot.demo.play import ALICE, BOB, GROUP
from tests.page.browser import DESKTOP, PHONE, Chat, resize, wait

LARGEST = 150_000
"""Bytes of a screenshot that is kept in the repository."""


def picture(driver: WebDriver, path: Path) -> None:
    driver.save_screenshot(str(path))
    assert 10_000 < path.stat().st_size < LARGEST


def life(driver: WebDriver) -> str:
    return driver.find_element(By.ID, "life").text


def test_the_first_message_names_the_model(driver: WebDriver, demo: str) -> None:
    driver.get(demo)

    greeting = Chat(driver, ALICE).bubble("I am Kai")

    assert "guide:offline" in Chat(driver, ALICE).text(greeting)


def test_ask_see_the_card_approve_and_see_its_exit_code(driver: WebDriver, demo: str, pictures: Path) -> None:
    driver.get(demo)
    alice = Chat(driver, ALICE)
    alice.write("How full is the disk?")
    assert "% full" in alice.text(alice.bubble("The root disk is"))

    alice.write("Delete old.tmp")
    card = alice.bubble("May I run this?")
    assert "rm -r -- old.tmp" in alice.text(card)
    alice.press("Approve", card)
    alice.bubble("old.tmp is deleted")

    wait(driver, lambda: "exit 0" in alice.text(card), "the exit code on the card")
    assert alice.all(f"{card} .keyboard button") == []
    alice.write("Restart nginx")
    waiting = alice.bubble("systemctl restart nginx")
    wait(driver, lambda: not alice.find(".toast").is_displayed(), "the toast to go")
    resize(driver, (1280, 1000))
    picture(driver, pictures / "demo.png")
    resize(driver, PHONE, dark=True)
    driver.find_element(By.CSS_SELECTOR, f'#chats button[data-chat="{ALICE}"]').click()
    picture(driver, pictures / "demo-390.png")
    alice.press("Deny", waiting)
    alice.bubble("was not run")


def test_a_file_comes_from_the_server(driver: WebDriver, demo: str) -> None:
    driver.get(demo)
    alice = Chat(driver, ALICE)

    alice.write("Send me logs/demo.log")

    alice.bubble("logs/demo.log is on its way")
    wait(driver, lambda: "demo.log" in alice.find("a.file").text, "the file")


def test_a_file_goes_to_the_server(driver: WebDriver, demo: str, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("forty-two\n")
    driver.get(demo)
    alice = Chat(driver, ALICE)
    alice.bubble("I am Kai")

    alice.find("input[type=file]").send_keys(str(tmp_path / "report.txt"))
    alice.bubble("I did not understand that")  # the guide reads no files, but the bot has kept it
    alice.write("run `cat inbox/*/*-report.txt`")

    alice.bubble("forty-two")


def test_a_command_shows_that_it_runs(driver: WebDriver, demo: str) -> None:
    driver.get(demo)
    alice = Chat(driver, ALICE)

    alice.write("Count to 4")

    wait(driver, lambda: "typing" in alice.find(".sub").text or alice.all(".draft"), "a sign of life")
    alice.bubble("4\n", within=20)


def test_an_answer_is_seen_as_it_is_written(driver: WebDriver, demo: str) -> None:
    driver.get(demo)
    alice = Chat(driver, ALICE)

    alice.write("What can you do?")

    draft = wait(driver, lambda: alice.find(".draft .text").text, "a draft")
    whole = alice.text(alice.bubble("connect a model: ask me how"))
    assert draft.splitlines()[0][:20] in whole
    assert len(draft) < len(whole)
    assert alice.all(".draft") == []


def test_bob_may_ask_but_not_approve(driver: WebDriver, demo: str) -> None:
    driver.get(demo)
    button = (By.CSS_SELECTOR, f'#chats button[data-chat="{GROUP}"]')
    wait(driver, lambda: driver.find_elements(*button), "the group")[0].click()
    alice, bob = Chat(driver, ALICE), Chat(driver, BOB)
    bob.write("@kai_demo_bot delete notes.txt")
    card = alice.bubble("rm -r -- notes.txt")

    bob.press("Approve", card)
    wait(driver, lambda: "dmin" in bob.find(".toast").text, "a toast that refuses")
    alice.press("Approve", card)

    wait(driver, lambda: "exit 0" in bob.text(card), "the exit code, for both to see")


def test_a_card_survives_kill_9_from_the_faults_panel(driver: WebDriver, demo: str) -> None:
    resize(driver, DESKTOP)
    driver.get(demo)
    alice = Chat(driver, ALICE)
    alice.write("Delete site")
    card = alice.bubble("rm -r -- site")
    driver.find_element(By.ID, "open-faults").click()

    driver.find_element(By.ID, "kill").click()
    wait(driver, lambda: "not running" in life(driver), "the bot to be dead")
    assert "signal 9" in driver.find_element(By.ID, "process").text
    alice.press("Approve", card)
    driver.find_element(By.ID, "start").click()

    wait(driver, lambda: life(driver) == "● running", "the bot to be back")
    alice.bubble("site is deleted", within=25)
    assert "exit 0" in alice.text(card)
    assert len([one for one in alice.all(".message") if "site is deleted" in one.text]) == 1


@pytest.mark.parametrize(
    ("trouble", "question", "answer"),
    [
        ("429", "What time is it?", "on this machine"),
        ("502", "How many cores?", "can be used here"),
        ("Slow", "Which kernel?", "Kernel: "),
        ("Drop the next call", "Who am I?", "Commands run as"),
        ("Drop the next message's answer", "Uptime?", ", since "),
    ],
)
def test_trouble_from_the_panel_is_come_through_and_the_answer_is_there(
    driver: WebDriver, demo: str, trouble: str, question: str, answer: str
) -> None:
    driver.get(demo)
    alice = Chat(driver, ALICE)
    alice.bubble("I am Kai")
    driver.find_element(By.ID, "open-faults").click()
    buttons = driver.find_elements(By.CSS_SELECTOR, "#troubles button")
    next(button for button in buttons if trouble in button.text).click()
    wait(driver, lambda: driver.find_element(By.ID, "trouble").text, "that the panel says so")

    alice.write(question)

    alice.bubble(answer, within=25)
    # Where nobody can know whether it arrived, it comes once more and says so.
    texts = [message.text for message in alice.all(".message[data-message]")]
    copies = [text for text in texts if answer in text and "may be a repeat" not in text]
    assert len(copies) == 1
