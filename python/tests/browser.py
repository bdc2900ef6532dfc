"""A headless Chromium, asked over its debugging pipe: what a page loads, complains of and shows."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT_S = 60


def find():
    """The path of a browser."""
    found = next((path for path in map(shutil.which, NAMES) if path is not None), None)
    assert found is not None, f"install a Chromium to run this test: there is none of {', '.join(NAMES)}"
    return found


def _in_child(read, write):
    """Puts the pipes where the browser looks for them."""

    def move():
        # Above 3 and 4 first: either may be the other's number.
        high_read, high_write = os.dup2(read, 20), os.dup2(write, 21)
        os.dup2(high_read, 3)
        os.dup2(high_write, 4)

    return move


class Browser:
    """A page of a browser; events are kept in the order in which they came."""

    def __init__(self, program):
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        arguments = [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={self._folder.name}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        self._child = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=_in_child(to_child, from_child),
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer, self._number, self.events = b"", 0, []
        self._session = None
        pages = self.ask("Target.getTargets")["targetInfos"]
        page = next(each for each in pages if each["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def _message(self):
        while b"\0" not in self._buffer:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser went away"
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **parameters):
        """The answer to a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1010, height=1400, dark=False):
        """Opens a file, or an address with `http:`, and waits until all of it is there."""
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=theme)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **metrics)
        self.events.clear()
        url = str(path) if str(path).startswith("http:") else Path(path).resolve().as_uri()
        self.ask("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    def value(self, script):
        """What a script comes to in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def requests(self):
        """Addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """Messages of the console, errors and warnings of the page."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in kinds]

    def screenshot(self, path, full=False):
        """Writes what the page shows as PNG; with `full` all of it."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        """Ends the browser."""
        with contextlib.suppress(OSError):
            os.write(self._write, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()
