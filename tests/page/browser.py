"""A real Chromium without a screen, and what a person does with the page."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

T = TypeVar("T")

DESKTOP, PHONE = (1280, 800), (390, 844)
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --lang=en"
).split()


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """Start Debian's Chromium with a fresh profile; nothing is fetched for it."""
    options = Options()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(shutil.which("chromedriver") or "chromedriver", log_output=str(profile) + ".log")
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: WebDriver, size: tuple[int, int], *, dark: bool = False) -> None:
    """Give the page exactly this many CSS pixels, as a phone or a desktop has them."""
    width, height = size
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    scheme = "dark" if dark else "light"
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )


class Chat:
    """One person's pane, as they use it."""

    def __init__(self, driver: WebDriver, person: int) -> None:
        self._driver = driver
        self._pane = f'.pane[data-person="{person}"]'

    def find(self, selector: str) -> WebElement:
        return self._driver.find_element(By.CSS_SELECTOR, f"{self._pane} {selector}")

    def all(self, selector: str) -> list[WebElement]:
        return self._driver.find_elements(By.CSS_SELECTOR, f"{self._pane} {selector}")

    def write(self, text: str) -> None:
        wait(self._driver, lambda: self.find("textarea"), "a place to write").send_keys(text, Keys.ENTER)

    def bubble(self, text: str, within: float = 15) -> str:
        """Wait for the newest message that shows this text; return a selector of it.

        What is drawn anew is another element, so the element itself would not do.
        """

        def look() -> str | None:
            found = [message for message in self.all(".message[data-message]") if text in message.text]
            return f'.message[data-message="{found[-1].get_attribute("data-message")}"]' if found else None

        return wait(self._driver, look, f"a message with {text!r}", within)

    def text(self, message: str) -> str:
        return wait(self._driver, lambda: self.find(message).text, message)

    def press(self, label: str, message: str) -> None:
        def look() -> WebElement | None:
            buttons = self.all(f"{message} .keyboard button")
            return next((button for button in buttons if label in button.text), None)

        wait(self._driver, look, f"a button {label!r}").click()


def wait(driver: WebDriver, look: Callable[[], T | None], what: str, within: float = 15) -> T:
    """Wait until `look` returns something true.

    Raises:
        AssertionError: It did not; the text shows the page.
    """
    waiting = WebDriverWait(driver, within, 0.05, [NoSuchElementException, StaleElementReferenceException])
    try:
        return waiting.until(lambda _: look())  # type: ignore[return-value]
    except Exception as error:
        page = driver.find_element(By.TAG_NAME, "body").text
        raise AssertionError(f"no {what} within {within} s; the page shows:\n{page}") from error
