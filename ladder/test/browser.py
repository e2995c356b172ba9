# SPDX-License-Identifier: MIT
"""A headless Chromium under control, over its DevTools protocol, with nothing but the standard library: open a page,
press keys, run JavaScript, take a picture. For the tests of the ladder's page (test_ladder_browser.sh)."""
import base64, json, os, shutil, socket, struct, subprocess, tempfile, time, urllib.request


# What a page has that cannot be read. WCAG AA: text 4.5 to 1 (3 to 1 if large), marks 3 to 1; no letter smaller than
# 12 pixels; nothing sticks out.
LOOK = r"""(() => {
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return c.startsWith('color(srgb') ? [255 * m[0],
    255 * m[1], 255 * m[2], m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const known = new Map(), white = [255, 255, 255, 1]; /* an element's ground is asked for by all that it holds */
  const behind = e => { if (!e) return white; if (!known.has(e)) known.set(e,
    over(parse(getComputedStyle(e).backgroundColor), behind(e.parentElement))); return known.get(e); };
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const bad = new Set(), name = e => e.tagName + '.' + (e.getAttribute('class') || '') + ' in ' +
    (e.closest('[id]') || {}).id;
  for (const d of document.querySelectorAll('details')) d.open = true;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest('script, noscript, title, option') || !e.getClientRects().length ||
      (e.disabled && e.tagName === 'BUTTON')) continue;
    const style = getComputedStyle(e), svg = e.ownerSVGElement;
    const size = parseFloat(style.fontSize) * (svg ? svg.getScreenCTM().a : 1), ink = parse(svg ? style.fill :
      style.color), under = behind(svg || e);
    if (size < 11.95) bad.add(name(e) + ' has letters of ' + size.toFixed(1) + ' pixels');
    const r = ratio(over(ink, under), under);
    if (r < (size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5)) bad.add(name(e) +
      ' has a contrast of ' + r.toFixed(2) + ' to 1: ' + n.data.trim().slice(0, 30));
  }
  const marks = '.track i, .track b, .step i, svg .cell, svg .bad, svg .bar, svg .host, svg .split, svg .mark, ' +
    'svg .roof, svg .line, svg .twig, svg .leaf, svg .paid';
  for (const e of document.querySelectorAll(marks)) {
    const style = getComputedStyle(e), drawn = e.ownerSVGElement;
    const c = parse(drawn ? (style.fill !== 'none' && !e.matches('.leaf, .mark, .paid') ? style.fill :
      style.stroke) : style.backgroundColor), under = behind(e.ownerSVGElement || e.parentElement);
    if (c[3] && ratio(over(c, under), under) < 3) bad.add(name(e) + ' has a contrast of ' + ratio(over(c, under),
      under).toFixed(2) + ' to 1');
  }
  for (const t of document.querySelectorAll('.scroll')) { /* the first two columns of every table are in sight */
    const cell = t.querySelector('tbody tr > :nth-child(2)');
    if (cell && cell.getBoundingClientRect().right > t.getBoundingClientRect().right) bad.add('the main column of ' +
      t.getAttribute('aria-label') + ' is hidden');
  }
  const html = document.documentElement; /* (a phone's innerWidth grows with what sticks out) */
  if (html.scrollWidth > html.clientWidth) bad.add('the page is wider than its window: ' + html.scrollWidth);
  return [...bad];
})()"""


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
             "--disable-ipc-flooding-protection",  # else of many new addresses in ten seconds some are ignored
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
