# SPDX-License-Identifier: MIT
"""The ladder's page in Chromium: the stepper by keyboard, what a screen reader is told, sizes and contrasts.
python3 test_ladder_page.py PAGE [TRIED [SWEPT]]"""
import glob, json, os, sys, time
from browser import Browser, LOOK

page, failed, passed = "file://" + os.path.abspath(sys.argv[1]), 0, 0


def check(good, name, detail=""):
    global failed, passed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", name, str(detail)[:1500])


browser = Browser()
browser.look(1280, 900)


def state(shape):
    return browser.run(f"""(() => {{ const s = document.querySelector('#{shape}-steps'); return [s.dataset.rung,
      +s.dataset.at, s.querySelector('[aria-live]').textContent,
        [...s.querySelectorAll('.memory')].map(m => m.querySelector('figcaption').textContent + ' ' +
          [...m.querySelectorAll('.word')].map(w => w.lastChild.data).join(' '))] }})()""")


def all_steps(shape):
    """What is told from here to the last step; the key is the page's own event, which is quicker than the browser's."""
    return browser.run(f"""(() => {{ const s = document.querySelector('#{shape}-steps'), told = [],
      frame = s.querySelector('.frame');
        for (let before = 0; +s.dataset.at !== before;) {{ before = +s.dataset.at;
          told.push(s.querySelector('[aria-live]').textContent);
            frame.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'ArrowRight', bubbles: true }})); }}
              return told }})()""")


def show(address, shape):
    """A new address of the open page; the rung of the shape's stepper."""
    browser.run(f"location.hash = {json.dumps(address)}")
    return browser.run(f"""new Promise(done => setTimeout(() =>
      done(document.querySelector('#{shape}-steps').dataset.rung), 0))""")


# ---- the keyboard alone ----
browser.open(page)
check(os.path.getsize(sys.argv[1]) < 1500000, "the page is under 1.5 MB", os.path.getsize(sys.argv[1]))
# the first thing that Tab finds in the stepper is the choice of a rung; then buttons, slider, the
# frame
for _ in range(400):
    if browser.run("document.activeElement.matches('#reduce-steps select')"):
        break
    browser.key("Tab")
check(browser.run("document.activeElement.matches('#reduce-steps select')"), "Tab comes to the stepper")
order = []
for _ in range(5):
    browser.key("Tab")
    order.append(browser.run("document.activeElement.dataset.do || document.activeElement.type || "
        "document.activeElement.className"))
check(order == ["play", "next", "last", "range", "frame"], "buttons, slider and frame follow; what cannot be done is "
    "left out", order)
seen = [state("reduce")]
for _ in range(3):
    browser.key("ArrowRight")
    seen.append(state("reduce"))
check([s[1] for s in seen] == [1, 2, 3, 4], "the right arrow steps", seen)
check(browser.run("location.hash") == f"#step=reduce/{seen[0][0]}/4", "the address shows the step",
    browser.run("location.hash"))
check(browser.run("""(() => { const c = [...document.querySelectorAll('.stepper .code')];
  return c.length && c.every(x => x.scrollWidth <= x.clientWidth) })()"""), "no line of code is cut off at 1280 pixels")
check(browser.run("""(() => { const bar = document.querySelector('nav.contents');
  return getComputedStyle(bar).position === 'sticky' && !!bar.querySelector('a[href="#reduce-steps"]') &&
    [...bar.querySelectorAll('a')].every(a => document.querySelector(a.getAttribute('href'))) })()"""),
      "a bar of contents, with the stepper")
check(len({s[2] for s in seen}) == 4, "every step is told", seen)
browser.key("ArrowLeft")
check(state("reduce") == seen[2], "the left arrow goes back, to the same memory", (state("reduce"), seen[2]))
browser.key("End")
end = state("reduce")
browser.key("ArrowRight")
check(state("reduce") == end and f"of {end[1]}" in end[2], "End is the last step", end)
browser.key("Home")
check(state("reduce")[1] == 1, "Home is the first", state("reduce")[1])
browser.run("setInterval = ((old) => (f, t) => old(f, t / 20))(setInterval)")
browser.key(" ")
time.sleep(0.5)
browser.key(" ")
where = state("reduce")[1]
time.sleep(0.3)
check(where > 2 and state("reduce")[1] == where, "space plays and pauses", where)

# ---- what the steps say ----
WORDS = {  # rung: words that one of its steps must have
    "reduce/tiled_1": ["Warp 0 diverges: lanes 0, 2, 4 and 6 go on, lanes 1, 3, 5 and 7 wait.",
        "Lanes 1, 3, 5 and 7 are idle."],
    "reduce/tiled_2": ["Lanes 0 to 7 read data[0, 2, 4, 6, 8, 10, 12 and 14]. Bank conflict, 2-fold: lanes 0 and 4 "
        "want different words of bank 0, so the access takes 2 passes."],
    "reduce/tiled_3": ["Warp 1: nothing to do at this line."],
    "reduce/reduce5": ["RACE: threads ", "no barrier is between them"],
    "reduce/shuffle": ["0 takes from 4, 1 takes from 5"],
    "reduce/simple_1": ["Launch 3 of 3: kernel halve"],
    "reduce/vector_load": ["4 sectors of 32 bytes"],
    "reduce/bulk_copy": ["Lane 0 reads in[0], 16 elements from there on.", "wait until the bulk copies have arrived"],
    "reduce/grid_sync": ["Group 1 begins.", "Barrier of all groups: group 1 has come.", "Group 0 goes on"],
    "scan/blelloch": ["Bank conflict, 2-fold"],
    "scan/tiled_scan": ["kernel propagate", "Group 1 begins."],
    "window/sma_tiled": ["Lanes 0 to 7 read in[0 to 7]"],
}
for rung, needles in WORDS.items():
    shape, name = rung.split("/")
    show(f"#step={rung}/1", shape)
    check(state(shape)[:2] == [name, 1], f"the address #step={rung}/1 shows it", state(shape)[:2])
    told = all_steps(shape)
    for words in needles:
        check(any(words in t for t in told), f"{rung} says: {words}", "\n".join(told[:12]))
    if rung != "reduce/reduce5":
        check(not any("RACE" in t for t in told), f"{rung} has no race", told)
    if rung == "reduce/tiled_3":  # 1 + 2 + ... + 16, and the other tile: 17 + ... + 30
        check(any(m.startswith("out") and "136 329" in m for m in state(shape)[3]),
            "the memory shown at the end is the result", state(shape)[3])
    if rung == "reduce/grid_sync":  # 1 + 2 + ... + 62, in the shared memory that group 0 kept while group 1 ran
        check(any(m.startswith("out") and "1953" in m for m in state(shape)[3]), "groups that meet keep their memory",
            state(shape)[3])

# ---- every rung steps to its end, and the script never fails ----
names = json.loads(browser.run("JSON.stringify([...document.querySelectorAll('.stepper')].flatMap(s => "
    "[...s.querySelectorAll('option')].map(o => s.dataset.shape + '/' + o.value)))"))
check(len(names) >= 26, "every rung with a kernel can be stepped", names)
for name in names:
    last = show(f"#step={name}/9999", name.split("/")[0])
    check(last == name.split("/")[1], f"{name} can be shown to its end", last)
check(not browser.errors(), "no error of the script", browser.errors())

# ---- can it be read? ----
browser.open(page + "#step=reduce/tiled_2/11")
check(state("reduce")[:2] == ["tiled_2", 11], "an address of a step opens there", state("reduce")[:2])
for width, dark in ((1280, False), (1280, True), (390, True), (320, False)):
    browser.look(width, 900, dark)
    found = browser.run(LOOK)
    check(not found, f"{width} pixels, {'dark' if dark else 'light'}: letters, contrasts, widths",
        "\n".join(found[:12]))

# ---- a reader's own kernel, without its barrier ----
if len(sys.argv) > 2:
    browser.look(1280, 900)
    browser.open("file://" + os.path.abspath(sys.argv[2]) + "#step=reduce/nobarrier.cl/1")
    told = all_steps("reduce")
    check(any("RACE: threads " in t for t in told), "the stepper shows the race of a kernel that was tried", told[:5])
    check(not browser.errors(), "no error of the script there", browser.errors())

# ---- a page of many sizes: its plots and bars are drawn, and nothing sticks out ----
if len(sys.argv) > 3:
    browser.open("file://" + os.path.abspath(sys.argv[3]))
    for width in (390, 1280):
        browser.look(width, 900)
        drawn = browser.run("[document.querySelectorAll('svg').length, "
            "[...document.querySelectorAll('.track i')].filter(e => e.getBoundingClientRect().width > 1).length]")
        found = browser.run(LOOK)
        check(all(drawn) and not found, f"a page with --sweep at {width} pixels", "\n".join([str(drawn)] + found[:12]))

# ---- the figures of the documents, as a page shows them ----
figures = sys.argv[1] + ".figures.html"
with open(figures, "w") as f:
    f.write('<!DOCTYPE html><meta name="viewport" content="width=device-width"><meta name="color-scheme" '
        'content="light dark"><style>body { margin: 0; background: #fff }'
            "svg { display: block; max-width: 100%; height: auto } @media (prefers-color-scheme: dark) { body { "
                "background: #0d1117 } }</style><body>")
    names = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "doc", "figures", "*.svg")))
    check(len(names) > 12, "the documents have figures", names)
    for name in names:
        f.write(f'<div id="{os.path.basename(name)}">{open(name).read()}</div>')
browser.open("file://" + os.path.abspath(figures))
for width, dark in ((1280, False), (1280, True), (412, False)):
    browser.look(width, 900, dark)
    found = browser.run(LOOK)
    check(not found, f"ladder/doc/figures, {width} pixels, {'dark' if dark else 'light'}", "\n".join(found[:12]))
browser.close()
print(passed, "passed,", failed, "failed")
sys.exit(failed > 0)
