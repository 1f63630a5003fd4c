"""Opens a page in headless Chromium, over the browser's own pipe, and tells what a reader would see."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

NAVIGATIONS = 5  # that a page may be asked again for, since each loses an answer
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """One browser without a network but 127.0.0.1; use it as a context manager."""

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = (f'exec "$0" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe '
                   f'--user-data-dir="$1" --host-resolver-rules="MAP * ~NOTFOUND, EXCLUDE 127.0.0.1" about:blank 3<&{theirs_in} 4>&{theirs_out}')
        self._process = subprocess.Popen(["bash", "-c", command, PROGRAM, self._profile.name], pass_fds=(theirs_in, theirs_out),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self._in, self._out = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self._number, self._rest, self.events, self._session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(60)
        self._in.close(), self._out.close()
        self._profile.cleanup()

    def _read(self):
        while b"\0" not in self._rest:
            more = os.read(self._in.fileno(), 1 << 20)
            if not more:
                raise EOFError("Chromium has ended")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while (answer := self._read()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, place, width, dark=False, scripts=True):
        """A file, or an address of this host. Until the page has loaded."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        went = self.call("Page.navigate", url=str(place) if str(place).startswith("http:") else f"file://{place}")
        if "loaderId" not in went:  # it is there already, and has a "#"
            self.call("Page.reload")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def value(self, expression):
        """The value of a JavaScript expression. A page that is just being left has none, so its successor is asked."""
        for _ in range(NAVIGATIONS):
            try:
                return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")
            except RuntimeError as error:
                if "navigated or closed" not in str(error):
                    raise
        raise RuntimeError(f"the page was left {NAVIGATIONS} times while {expression!r} was asked for")

    def complaints(self):
        """Exceptions and messages of the console, and whatever was asked for beside files and this host."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                found.append(json.dumps(parameters))
            elif event.get("method") == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "data:", "http://127.0.0.1:")):
                    found.append(url)
        return found

    def screenshot(self, path, longest=None):
        """The whole page, or its first `longest` pixels."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], longest or size["height"]), "scale": 1}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png", clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
