# SPDX-License-Identifier: MIT
"""A headless Chromium under control, over its DevTools protocol, with nothing but the standard library: open a page,
press keys, run JavaScript, take a picture. For the tests of the ladder's page (test_ladder_page.sh)."""
import base64, json, os, shutil, socket, struct, subprocess, tempfile, time, urllib.request


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    return None


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run",
             "--user-data-dir=" + self.folder, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file, end = os.path.join(self.folder, "DevToolsActivePort"), time.time() + 30
        while not (os.path.exists(file) and open(file).read().count("\n")):
            if time.time() > end or self.process.poll() is not None:
                raise RuntimeError("the browser does not start")
            time.sleep(0.05)
        port = int(open(file).readline())
        pages = []
        while not pages:
            targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
            pages = [p for p in targets if p["type"] == "page"]
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        path = pages[0]["webSocketDebuggerUrl"].split(str(port), 1)[1]
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.stream, self.number, self.events = self.socket.makefile("rb"), 0, []
        while self.stream.readline() != b"\r\n":
            pass
        for domain in ("Page", "Runtime"):
            self.call(domain + ".enable")

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x81, 0xFE, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0xFF, size)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        whole = b""
        while True:
            first, second = self.stream.read(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self.stream.read(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.stream.read(8))[0]
            whole += self.stream.read(size)
            if first & 0x80:
                return json.loads(whole)

    def call(self, method, **parameters):
        self.number += 1
        self.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        end = time.time() + 60
        while self.run("location.href != 'about:blank' && document.readyState") != "complete":
            if time.time() > end:
                raise RuntimeError("the page does not load")
            time.sleep(0.02)

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def key(self, key, code=None):
        text = {" ": " ", "Enter": "\r"}.get(key)
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, " ": 32, "Tab": 9, "Enter": 13}
        same = {"key": key, "code": code or {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **({"text": text} if text else {}), **same)
        self.call("Input.dispatchKeyEvent", type="keyUp", **same)

    def look(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file):
        with open(file, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def errors(self):
        thrown = [e["params"]["exceptionDetails"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        return [details["exception"].get("description", "") for details in thrown]

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, ValueError, struct.error):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
