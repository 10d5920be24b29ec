"""The page in a real Chromium: what it shows of the world, and that nothing of it lies on something else."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver

from bot.demo.play import ALICE, BOB, FORUM, GROUP
from tests.page.browser import DESKTOP, PHONE, Chat, resize, wait
from tests.page.conftest import Stage

OVERLAPS = """
const shown = [...document.querySelectorAll(
  "#top > *, main > *, #chats > *, .tabs button, .pane > *, .message, .bubble, .service, "
  + ".keyboard button, .composer > *, #faults > *, #faults button")].filter((one) => one.checkVisibility());
const box = (one) => {
  let { left, right, top, bottom } = one.getBoundingClientRect();
  for (let up = one.parentElement; up; up = up.parentElement) {
    if (getComputedStyle(up).overflowY === "visible") continue;
    const edge = up.getBoundingClientRect();
    [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
    [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
  }
  return { left, right, top, bottom };
};
const found = [];
for (const [index, one] of shown.entries()) {
  const a = box(one);
  if (a.right - a.left < 1 || a.bottom - a.top < 1) continue;
  if (a.left < -1 || a.right > innerWidth + 1) found.push(`outside: ${one.className || one.id}`);
  const spills = one.clientWidth && one.scrollWidth > one.clientWidth + 1;
  if (spills && getComputedStyle(one).overflowX === "visible")
    found.push(`spills: ${one.className || one.id || one.textContent}`);
  for (const other of shown.slice(index + 1)) {
    if (one.contains(other) || other.contains(one)) continue;
    const b = box(other);
    if (b.right - b.left < 1 || b.bottom - b.top < 1) continue;
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
      found.push(`${one.className || one.id} on ${other.className || other.id}`);
  }
}
if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");
return found;
"""
LONG = "a_very_long_word_without_any_space_" * 6


def open_chat(driver: WebDriver, stage: Stage, chat: int) -> None:
    driver.get(stage.url)
    button = (By.CSS_SELECTOR, f'#chats button[data-chat="{chat}"]')
    wait(driver, lambda: driver.find_elements(*button), f"chat {chat}")[0].click()
    wait(driver, lambda: driver.find_element(*button).get_attribute("aria-current") == "true", "the chat")


def keyboard(*rows: list[str]) -> dict[str, object]:
    styles = {"Approve": "success", "Deny": "danger", "More": "primary"}
    return {
        "inline_keyboard": [
            [
                {"text": label, "callback_data": label}
                | ({"style": styles[label]} if label in styles else {})
                for label in row
            ]
            for row in rows
        ]
    }


def test_a_message_is_dressed_as_its_entities_say(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, ALICE)
    text = (
        "👩‍👩‍👧 <b>bold <i>both</i></b> <code>vector&lt;int&gt;</code> "
        '<a href="https://example.com/">link</a>\n<pre><code class="language-sh">ls -l\ndf</code></pre>\n'
        "<blockquote expandable>one\ntwo\nthree\nfour\nfive</blockquote><tg-spoiler>secret</tg-spoiler>"
    )
    stage.bot("sendMessage", chat_id=ALICE, text=text, parse_mode="HTML")
    alice = Chat(driver, ALICE)

    bubble = alice.bubble("bold both")

    def covered(selector: str) -> str:
        return alice.find(f"{bubble} {selector}").text

    assert covered("b") == "bold both"
    assert covered("b i") == "both"
    assert covered(".text > code") == "vector<int>"
    assert covered("pre") == "ls -l\ndf"
    assert alice.find(f"{bubble} a").get_attribute("href") == "https://example.com/"
    assert alice.find(f"{bubble} a").get_attribute("rel") == "noopener noreferrer"
    quote = alice.find(f"{bubble} blockquote")
    assert "folded" in str(quote.get_attribute("class"))
    quote.click()
    assert "folded" not in str(quote.get_attribute("class"))


def test_what_looks_like_html_stays_text(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, ALICE)
    stage.bot("sendMessage", chat_id=ALICE, text="<img src=x onerror=alert(1)><b>no</b>")

    bubble = Chat(driver, ALICE).bubble("<img src=x onerror=alert(1)><b>no</b>")

    assert Chat(driver, ALICE).all(f"{bubble} img, {bubble} b") == []


def test_buttons_have_their_styles_and_a_press_is_answered_with_a_toast(
    driver: WebDriver, stage: Stage
) -> None:
    open_chat(driver, stage, ALICE)
    markup = keyboard(["Approve", "Deny"], ["More", "Plain"])
    stage.bot("sendMessage", chat_id=ALICE, text="Run this?", reply_markup=markup)
    alice = Chat(driver, ALICE)
    card = alice.bubble("Run this?")
    labels = {button.text: button.get_attribute("class") for button in alice.all(f"{card} .keyboard button")}

    alice.press("Approve", card)
    press = wait(driver, lambda: list(stage.emulator.world.presses.values()), "a press")[0]
    stage.bot("answerCallbackQuery", callback_query_id=press.id, text="Approved")

    assert labels == {"Approve": "success", "Deny": "danger", "More": "primary", "Plain": ""}
    assert (press.data, press.user.id) == ("Approve", ALICE)
    wait(driver, lambda: alice.find(".toast").text == "Approved", "the toast")


def test_a_draft_grows_and_goes_when_the_message_comes(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)
    seen = []
    for text in ("The", "The disk is", "The disk is full"):
        stage.bot("sendMessageDraft", chat_id=ALICE, draft_id=1, text=text, can_stop=True)
        wait(driver, lambda text=text: alice.find(".draft .text").text == text, f"the draft {text!r}")  # type: ignore[misc]
        seen.append(alice.find(".draft .keyboard button").text)

    stage.bot("sendMessage", chat_id=ALICE, text="The disk is full.")

    alice.bubble("The disk is full.")
    assert seen == ["Stop"] * 3
    assert alice.all(".draft") == []


def test_typing_shows_and_ends(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)

    stage.bot("sendChatAction", chat_id=ALICE, action="typing")
    wait(driver, lambda: alice.find(".sub").text == "typing…", "typing")
    stage.bot("sendMessage", chat_id=ALICE, text="done")

    wait(driver, lambda: alice.find(".sub").text == "bot", "the end of typing")


def test_an_edit_and_a_reaction_show_and_a_deleted_message_goes(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)
    alice.write("hello")
    mine = alice.bubble("hello")
    number = int(mine.partition('"')[2].rstrip('"]'))
    sent = stage.bot("sendMessage", chat_id=ALICE, text="working")
    alice.bubble("working")

    stage.bot(
        "setMessageReaction", chat_id=ALICE, message_id=number, reaction='[{"type":"emoji","emoji":"👀"}]'
    )
    stage.bot("editMessageText", chat_id=ALICE, message_id=sent["message_id"], text="worked")

    assert "edited" in alice.text(alice.bubble("worked"))
    wait(driver, lambda: "👀" in alice.text(mine), "the reaction")
    stage.bot("deleteMessage", chat_id=ALICE, message_id=sent["message_id"])
    wait(driver, lambda: "worked" not in alice.find(".messages").text, "the message to go")


def test_two_people_see_a_group_side_by_side(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, GROUP)
    alice, bob = Chat(driver, ALICE), Chat(driver, BOB)

    alice.write("hi Bob")
    bob.bubble("hi Bob")
    bob.write("hi Alice")
    alice.bubble("hi Alice")

    assert alice.find(".message.own .text").text == "hi Bob"
    assert bob.find(".message.own .text").text == "hi Alice"
    assert bob.find(".message.other .sender").text == "Alice"


def test_a_topic_shows_only_its_own(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, FORUM)
    alice = Chat(driver, ALICE)
    alice.write("in General")
    alice.bubble("in General")

    tabs = {tab.text: tab for tab in alice.all(".topics button")}
    tabs["# Servers"].click()
    alice.write("in Servers")
    alice.bubble("in Servers")

    assert "in General" not in alice.find(".messages").text
    sent = list(stage.emulator.chat(FORUM).live())[-1]
    assert sent.is_topic
    assert stage.emulator.chat(FORUM).topics[sent.thread or 0].name == "Servers"


def test_a_file_of_the_bot_can_be_fetched_and_a_persons_file_is_sent(
    driver: WebDriver, stage: Stage, tmp_path: pytest.TempPathFactory
) -> None:
    path = f"{tmp_path}/report.txt"
    with open(path, "w") as file:
        file.write("forty-two")
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)

    alice.find("input[type=file]").send_keys(path)
    bubble = alice.bubble("report.txt")

    stored = next(m for m in stage.emulator.chat(ALICE).live() if m.kind == "document")
    assert stage.emulator.person(ALICE).download(stored) == b"forty-two"
    address = alice.find(f"{bubble} a.file").get_attribute("href")
    got = driver.execute_async_script(
        "const done = arguments[1]; fetch(arguments[0]).then((a) => a.text()).then(done)", address
    )
    assert got == "forty-two"


def test_a_reply_and_an_edit_by_the_person(driver: WebDriver, stage: Stage) -> None:
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)
    alice.write("frist")
    mine = alice.bubble("frist")

    alice.all(f"{mine} .meta button")[1].click()
    alice.find("textarea").clear()
    alice.write("first")
    alice.bubble("first")
    alice.all(f"{mine} .meta button")[0].click()
    alice.write("second")
    alice.bubble("second")

    first, second = list(stage.emulator.chat(ALICE).live())
    assert (first.text, second.reply_to) == ("first", first)


def test_commands_are_offered_as_one_types_them(driver: WebDriver, stage: Stage) -> None:
    stage.bot("setMyCommands", commands='[{"command":"status","description":"state of the server"}]')
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)

    alice.find("textarea").send_keys("/st")
    offer = wait(driver, lambda: alice.find(".suggestions.list button"), "an offer")
    assert offer.text == "/status state of the server"
    offer.click()

    assert alice.find("textarea").get_attribute("value") == "/status"


def test_dark_and_light_are_what_the_system_says(driver: WebDriver, stage: Stage) -> None:
    shades = []
    for dark in (False, True):
        resize(driver, DESKTOP, dark=dark)
        open_chat(driver, stage, ALICE)
        shades.append(driver.find_element(By.TAG_NAME, "body").value_of_css_property("background-color"))

    light, dark_shade = (sum(map(int, shade.strip("rgba()").split(",")[:3])) for shade in shades)
    assert light > 600
    assert dark_shade < 150


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["1280", "390"])
@pytest.mark.parametrize("faults", [False, True], ids=["", "faults"])
def test_nothing_lies_on_anything_else(
    driver: WebDriver, stage: Stage, size: tuple[int, int], faults: bool
) -> None:
    resize(driver, size)
    markup = keyboard(["Approve", "Deny"], ["More", LONG[:60]])
    for chat in (ALICE, GROUP, FORUM):
        if chat != FORUM:
            stage.bot("sendMessage", chat_id=chat, text=f"Run this? {LONG}\n" * 3, reply_markup=markup)
            pre = f"<pre>{'wide ' * 60}</pre>"
            stage.bot("sendMessage", chat_id=chat, text=pre, parse_mode="HTML")
        open_chat(driver, stage, chat)
        if faults:
            driver.find_element(By.ID, "open-faults").click()

        assert driver.execute_script(OVERLAPS) == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["1280", "390"])
def test_nothing_lies_on_a_draft_a_toast_a_reply_or_offered_commands(
    driver: WebDriver, stage: Stage, size: tuple[int, int]
) -> None:
    resize(driver, size)
    stage.bot("setMyCommands", commands='[{"command":"status","description":"state of the server"}]')
    stage.bot("sendMessage", chat_id=ALICE, text="Run this?\n" * 40, reply_markup=keyboard(["Approve"]))
    open_chat(driver, stage, ALICE)
    alice = Chat(driver, ALICE)
    card = alice.bubble("Run this?")
    stage.bot("sendMessageDraft", chat_id=ALICE, draft_id=1, text=f"It is {LONG}", can_stop=True)
    stage.bot("sendChatAction", chat_id=ALICE, action="typing")
    wait(driver, lambda: alice.find(".draft .keyboard button").is_displayed(), "the draft")
    alice.all(f"{card} .meta button")[0].click()
    alice.find("textarea").send_keys("/st")
    wait(driver, lambda: alice.find(".suggestions.list button"), "an offer")

    alice.press("Approve", card)
    press = wait(driver, lambda: list(stage.emulator.world.presses.values()), "a press")[0]
    stage.bot("answerCallbackQuery", callback_query_id=press.id, text=f"Approved {LONG}"[:190])
    wait(driver, lambda: alice.find(".toast").is_displayed(), "the toast")

    assert driver.execute_script(OVERLAPS) == []


def test_on_a_phone_one_goes_to_a_chat_and_back(driver: WebDriver, stage: Stage) -> None:
    resize(driver, PHONE)
    open_chat(driver, stage, GROUP)
    assert not driver.find_element(By.ID, "chats").is_displayed()
    assert Chat(driver, ALICE).find("textarea").is_displayed()
    assert not Chat(driver, BOB).find("textarea").is_displayed()

    driver.find_elements(By.CSS_SELECTOR, ".tabs button")[1].click()
    assert Chat(driver, BOB).find("textarea").is_displayed()

    driver.find_element(By.ID, "back").click()
    assert driver.find_element(By.ID, "chats").is_displayed()
