"""A browser that is told what to be: its width, its colour scheme, and what to compute on a page.

Over the pipe of Chromium's DevTools protocol, https://chromedevtools.github.io/devtools-protocol: messages of
JSON that end in a zero byte, to file descriptor 3 of the browser and from its 4.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.report.pages.browser import CHROMIUM

_TROUBLES = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


@contextmanager
def chromium(profile: Path) -> Iterator["Chromium"]:
    """Start a browser of its own, and end it."""
    assert CHROMIUM is not None
    to_read, commands = os.pipe()
    answers, to_write = os.pipe()
    program = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
        f"--user-data-dir={profile}",
    ]
    # Descriptors 3 and 4 may be taken here, so a shell gives them their numbers.
    script = f"exec {shlex.join(program)} 3<&{to_read} 4>&{to_write}"
    process = subprocess.Popen(
        ["bash", "-c", script], pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL
    )
    os.close(to_read)
    os.close(to_write)
    browser = Chromium(commands, answers)
    try:
        yield browser
        browser.call("Browser.close")
    finally:
        os.close(commands)
        os.close(answers)
        process.terminate()
        process.wait(30)


class Chromium:
    """The browser at the other end of two pipes."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._received = b""
        self._last_id = 0
        self._events: list[dict[str, Any]] = []

    def open(self, page: Path, *, width: int, height: int, scheme: str) -> "Tab":
        """The page in a tab of this size (CSS pixels) whose user likes `scheme`, light or dark."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        tab = Tab(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            tab.call(f"{domain}.enable")
        is_phone = width < 500
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone},
        )
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.call("Page.navigate", url=page.as_uri())
        while not tab.events("Page.loadEventFired"):
            self._events.append(self._message())
        return tab

    def call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """The result of a method of the protocol."""
        self._last_id += 1
        command = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            command["sessionId"] = session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._last_id:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._events.append(message)

    def events(self, session: str, *methods: str) -> list[dict[str, Any]]:
        """What a tab has told unasked."""
        return [
            each for each in self._events if each.get("sessionId") == session and each["method"] in methods
        ]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            part = os.read(self._answers, 1 << 16)
            assert part, "the browser has ended"
            self._received += part
        text, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


class Tab:
    """An open page."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """The result of a method of the protocol, in this tab."""
        return self._browser.call(method, self._session, **params)

    def events(self, *methods: str) -> list[dict[str, Any]]:
        """What the browser has told of this tab."""
        return self._browser.events(self._session, *methods)

    def troubles(self) -> list[dict[str, Any]]:
        """Errors of scripts, and whatever else went to the console."""
        return [event["params"] for event in self.events(*_TROUBLES)]

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")
