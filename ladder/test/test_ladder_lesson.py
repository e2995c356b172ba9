# SPDX-License-Identifier: MIT
"""The lesson's page in Chromium: exercises graded as the command line does it, by keyboard, without a network.
python3 test_ladder_lesson.py PAGE TALLY EXAMPLES"""
import glob, json, os, re, subprocess, sys, tempfile, time
from browser import Browser, LOOK

page, tally, examples = "file://" + os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
failed = passed = 0


def check(good, name, detail=""):
    global failed, passed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", name, str(detail)[:1500])


def words(text):
    return re.sub(r"\s+", " ", text).strip()


browser = Browser()
browser.look(1280, 900)
browser.call("Network.enable")
browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
browser.open(page)
check(os.path.getsize(sys.argv[1]) < 2000000, "the page is under 2 MB", os.path.getsize(sys.argv[1]))
text = open(sys.argv[1]).read()
check(not re.search(r"""(src|href)=["'](?!#)""", text), "the page refers to nothing outside of it")
exercises = sorted(glob.glob(os.path.join(examples, "[1-3]-*")))
check(browser.run("document.querySelectorAll('.exercise').length") == len(exercises) == 3, "three exercises", exercises)


def wait(number, before):
    end = time.time() + 60
    while browser.run(f"+document.querySelector('#exercise-{number}').dataset.graded || 0") == before:
        if time.time() > end:
            return "no grade in a minute"
        time.sleep(0.05)
    return words(browser.run(f"document.querySelector('#exercise-{number} .grade').innerText"))


def grade(number, kernel):
    before = browser.run(f"+document.querySelector('#exercise-{number}').dataset.graded || 0")
    browser.run(f"""(() => {{ const e = document.querySelector('#exercise-{number}');
      e.querySelector('textarea').value = {json.dumps(kernel)}; e.querySelector('[data-do=check]').click() }})()""")
    return wait(number, before)


def expected(assignment, file):
    """What the page must show, from the command line's JSON."""
    done = subprocess.run([tally, "ladder", "grade", assignment, file, "--json", "-"], capture_output=True, text=True)
    got = json.loads(done.stdout)
    whole = got["points"] == got["of"]
    shown = [f"{'Right' if whole else 'Not yet'}: {got['points']} of {got['of']} points."]
    shown += [f"{'passed' if c['passed'] else 'FAILED'} {c['check']}, {c['points']} of {c['of']}: {c['says']}."
              for c in got["checks"]]
    shown += [f"line {c['line']} n = {c['n']}, {c['dtype']}: {c['text']}." for c in got["complaints"] if c["line"]]
    return whole, words(" ".join(shown))


# ---- a right answer and three wrong ones of each exercise, graded as `tally ladder grade` does it ----
answers = tempfile.TemporaryDirectory()
for section in re.split(r"^==== ", open(os.path.join(examples, "answers.txt")).read(), flags=re.M)[1:]:
    name, kernel = section.split("\n", 1)
    with open(os.path.join(answers.name, name), "w") as f:
        f.write(kernel)
for number, folder in enumerate(exercises, 1):
    files = sorted(glob.glob(os.path.join(answers.name, os.path.basename(folder) + ".*")))
    files += glob.glob(folder + "/start.*")
    check(len(files) == 4, "a solution and three wrong answers", files)
    for file in files:
        whole, shown = expected(folder + "/assignment.toml", file)
        got = grade(number, open(file).read())
        check(got == shown, f"{file} is graded as on the command line", f"{got}\n   instead of\n{shown}")
        check(whole == ("solution" in file), f"{file}: right and wrong", shown)
got = grade(1, "KERNEL(")
check(got.startswith("Not graded: answer:1: "), "a text that does not compile has its place", got)
got = grade(1, "while (1);")
check(got.startswith("Not graded: answer:1: "), "nor one without a kernel", got)

# ---- the keyboard, and what a screen reader is told ----
browser.open(page)
browser.run("document.querySelector('#answer-1').focus()")
browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, modifiers=2)
check("0 of 100 points" in wait(1, 0), "Ctrl + Enter checks the exercise")
browser.run("document.querySelector('#answer-1').focus()")
order = []
for _ in range(4):
    browser.key("Tab")
    order.append(browser.run("document.activeElement.textContent"))
check(order[:2] == ["Check exercise 1", "Start exercise 1 again"] and order[2].startswith("line "),
      "Tab goes on from the answer to its buttons and to the lines of the complaints", order)
browser.run("document.querySelector('#exercise-1 .grade button').focus()")
browser.key("Enter")
check(browser.run("""(() => { const a = document.activeElement; return a.id === 'answer-1' &&
  a.value.slice(a.selectionStart, a.selectionEnd) })()""").strip().startswith("if (tid == 0) out[group_index()]"),
      "the line of a complaint is selected in the answer")
check(browser.run("""[...document.querySelectorAll('.exercise')].every(e => e.querySelector('[role=status][aria-live]')
  && document.querySelector('label[for=' + e.querySelector('textarea').id + ']'))"""),
      "each answer has a label and a region that is read out")

# ---- can it be read? ----
browser.open(page)
grade(1, open(glob.glob(exercises[0] + "/start.*")[0]).read())
for width, dark in ((1920, False), (1920, True), (1280, False), (390, True)):
    browser.look(width, 900, dark)
    found = browser.run(LOOK)
    check(not found, f"{width} pixels, {'dark' if dark else 'light'}: letters, contrasts, widths",
          "\n".join(found[:12]))
    if os.environ.get("TALLY_TEST_PICTURES"):
        browser.run("document.querySelector('#exercise-1').scrollIntoView()")
        browser.picture(os.path.join(os.environ["TALLY_TEST_PICTURES"], f"lesson-{width}-{int(dark)}.png"))
check(not browser.errors(), "no error of the script", browser.errors())
browser.close()
print(passed, "passed,", failed, "failed")
sys.exit(failed > 0)
