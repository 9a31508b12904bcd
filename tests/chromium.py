"""Chromium without a window, driven through a pipe: no port, no network, nothing to install beside it."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    # root and containers have no sandbox; what is loaded is our own
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # names resolve to nothing: a page that asks for more than itself fails, and is caught
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def find_chromium():
    """The program, or None."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Browser:
    """One running Chromium with one tab.

    `events` holds what the tab has said since the last `open`: requests, console messages, exceptions.
    """

    def __init__(self, patience=60.0):
        self.patience = patience
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        its_input, self._to = os.pipe()
        self._from, its_output = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self.folder}"]
        # the pipe is expected at 3 and 4, whatever numbers it has here
        shell = f'exec "$@" 3<&{its_input} 4>&{its_output}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "-", find_chromium(), *flags, "about:blank"],
            pass_fds=(its_input, its_output),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        self._number, self._rest, self._session = 0, b"", None
        self.events, self._runs_scripts = [], True
        target = next(t for t in self._targets() if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for room in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.call(f"{room}.enable")

    def _targets(self):
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            found = self.call("Target.getTargets")["targetInfos"]
            if any(t["type"] == "page" for t in found):
                return found
            time.sleep(0.05)
        raise TimeoutError("Chromium opened no tab.")

    def call(self, method, **params):
        """What the browser answers to a command of its protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            got = self._read()
            if got.get("id") == self._number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            if "method" in got:
                self.events.append(got)

    def _read(self):
        end = time.monotonic() + self.patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium said nothing for {self.patience:g} s.")
            piece = os.read(self._from, 1 << 16)
            if not piece:
                raise ConnectionError(f"Chromium has ended with {self.process.poll()}.")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, *, width=1200, dark=False, script=True):
        """Load a file as a reader would see it, and wait until it is there."""
        self._runs_scripts = script
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.look(width=width, dark=dark)
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            got = self._read()
            if "method" in got:
                self.events.append(got)

    def look(self, *, width=1200, dark=False, print_=False):
        """See the loaded page in another window, in the dark, or as it is printed."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if print_ else "screen", features=[theme])
        self._draw()

    def _draw(self):
        """Wait until the page has heard of what happened, and is drawn again."""
        if self._runs_scripts:
            self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def run(self, code):
        """The value of an expression in the page."""
        got = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"]["exception"].get("description", str(got)))
        return got["result"].get("value")

    def press(self, key, *, shift=False):
        """Press and release a key: Tab, Enter, or a character."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        more = {"windowsVirtualKeyCode": codes.get(key, ord(key[0])), "modifiers": 8 * shift}
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}), **more
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def hover(self, x, y):
        """Move the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self._draw()

    def click(self, x, y):
        """Press and release the mouse at a place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        """Write the whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        got = self.call(
            "Page.captureScreenshot",
            format="png",
            captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1},
        )
        Path(path).write_bytes(base64.b64decode(got["data"]))

    def pdf(self):
        """The page as it is printed, bytes of a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def close(self):
        """End the process and take its folder away."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self.folder, ignore_errors=True)
