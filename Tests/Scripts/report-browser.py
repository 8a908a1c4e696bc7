#!/usr/bin/env python3
"""Looks at the pages of `jostle report` as a browser shows them: report-browser.py JOSTLE DIRECTORY

DIRECTORY has axe.min.js, and gets journals, pages and pictures. Bounds: 100 000 verdicts in 1 s and 1 MB, 1 000 000 rows in 10 s and
100 MB of memory. Each page is shown at three widths, light and dark, and printed; nothing may stand on the console, nothing reach
beyond the page, and no rule of axe-core be broken. Ends with 1 if something is wrong.
"""
import base64
import html
import os
import pathlib
import re
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

JOSTLE, PLACE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
wrong = []


def check(is_so, what):
    print(("ok    " if is_so else "WRONG ") + what, flush=True)
    if not is_so:
        wrong.append(what)


def journal(name, verdicts, days, version=None, near=0):
    """A journal of so many verdicts and near misses, made once for each second of now."""
    versions = sorted(ROOT.glob("Tests/StoredFiles/journal-*.sql"), key=lambda path: int(path.stem.split("-")[1]))
    source = ROOT / f"Tests/StoredFiles/journal-{version}.sql" if version else versions[-1]
    directory = PLACE / name
    subprocess.run(["rm", "-rf", directory], check=True)
    now = int(time.time()) * 1_000_000
    subprocess.run([sys.executable, ROOT / "Tests/Scripts/make-journal.py", source, directory, str(verdicts), str(now), str(days), "1", str(near)],
                   check=True)
    return directory


def report(directory, since):
    """Makes the page; returns it, the seconds of the processor it took and the MB of memory it had."""
    page = directory / "page.html"
    # A process between, so that the memory is that of this one child.
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2);"
              "r = resource.getrusage(resource.RUSAGE_CHILDREN); print(r.ru_utime + r.ru_stime, r.ru_maxrss / 1024)")
    done = subprocess.run([sys.executable, "-c", script, JOSTLE, "report", "--state-dir", directory, "--since", since, "-o", page],
                          check=True, stdout=subprocess.PIPE, text=True)
    seconds, memory = map(float, done.stdout.split())
    return page, seconds, memory


def browser():
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(300)
    return driver


def screenshot(driver, path, width, height):
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    data = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})["data"]
    path.write_bytes(base64.b64decode(data))


def look(driver, name, page, axe):
    for width in [400, 900, 1600]:
        for scheme in ["light", "dark"]:
            at = f"{name} at {width}, {scheme}"
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500})
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            driver.get(page.as_uri())
            beyond = driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            check(beyond <= 0, f"{at}: nothing reaches beyond the page ({beyond} px)")
            # What is closed, too: what a person opens is to be as good. Of a thousand that are alike some stand for all.
            driver.execute_script("[...document.querySelectorAll('.log details')].slice(60).forEach(one => one.remove())")
            driver.execute_script("for (const one of [...document.querySelectorAll('details')].slice(0, 40)) one.open = true")
            driver.execute_script(axe)
            found = driver.execute_async_script(
                "const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
                ".then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.length + ' ' + v.nodes[0].html.slice(0, 160))),"
                " e => done(['axe: ' + e]))")
            check(found == [], f"{at}: axe-core finds nothing {found}")
            driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = false")
            screenshot(driver, PLACE / f"{name}-{width}-{scheme}.png", width, 2400)
    pdf = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.7})["data"]
    (PLACE / f"{name}.pdf").write_bytes(base64.b64decode(pdf))
    check(base64.b64decode(pdf)[:4] == b"%PDF", f"{name}: it can be printed")
    log = driver.get_log("browser")
    check(log == [], f"{name}: nothing stands on the console {log}")


COLOURS = {31: "#b3372f", 32: "#1a7f4b", 33: "#a15c00", 36: "#0f7a80"}


def terminal(text):
    """What a terminal shows, as a page: its colours, bold and dim."""
    body, style = [], {}
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if not part.startswith("\x1b"):
            css = ";".join(f"{key}:{value}" for key, value in style.items())
            # A font that lacks a sign borrows it from another, where it is wider.
            shown = "".join(f"<i>{sign}</i>" if ord(sign) > 0x2000 else html.escape(sign) for sign in part)
            body.append(f"<span style='{css}'>{shown}</span>" if css else shown)
            continue
        for word in part[2:-1].split(";"):
            number = int(word or 0)
            if number == 0:
                style = {}
            elif number == 1:
                style["font-weight"] = "bold"
            elif number == 2:
                style["opacity"] = "0.55"
            elif number == 39:
                style.pop("color", None)
            elif number in COLOURS:
                style["color"] = COLOURS[number]
    return ("<!DOCTYPE html><meta charset=utf-8><style>body{margin:0;background:#fbfaf8;color:#1f2328}"
            "i{font-style:normal;display:inline-block;width:1ch}pre{font:15px/1.2 'DejaVu Sans Mono',monospace;margin:0;padding:18px 22px;display:inline-block}</style><pre>"
            + "".join(body).rstrip() + "</pre>")


def pictures(driver):
    """Plays a minute, and makes the pictures of README.md of it."""
    scene = pathlib.Path("/tmp/jostle-minute")
    subprocess.run(["rm", "-rf", scene], check=True)
    scene.mkdir()
    subprocess.run([sys.executable, ROOT / "Tests/Scripts/report-scene.py", pathlib.Path(JOSTLE).parent, scene], check=True,
                   stderr=subprocess.DEVNULL)
    page, _, _ = report(scene, "50s")
    asked = subprocess.run([sys.executable, ROOT / "Tests/Scripts/report-numbers.py", page, scene / "journal.db"],
                           stdout=subprocess.PIPE, text=True)
    check(asked.returncode == 0, f"scene: every number is what its question gives: {asked.stdout.strip()}")
    text = page.read_text()
    for word in ["org.example.Camera", "S5.sent", "S2.denied", "20-scene.conf:12", "the screen is locked"]:
        check(word in text, f"scene: the page has '{word}'")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 900, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})

    def show(name, selector):
        box = driver.execute_script("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                                    "return [b.x + scrollX, b.y + scrollY, b.width, b.height]", selector)
        clip = dict(zip(["x", "y", "width", "height"], box), scale=1)
        data = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})["data"]
        target = ROOT / "docs/pictures" if os.environ.get("JOSTLE_WRITE_PICTURES") else PLACE
        target.mkdir(exist_ok=True)
        (target / f"{name}.png").write_bytes(base64.b64decode(data))

    driver.get(page.as_uri())
    show("report-strips", "section:nth-of-type(2)")
    driver.execute_script("const all = [...document.querySelectorAll('.log details')];"
                          "const place = all.findIndex(one => one.textContent.includes('S2.denied')); all[place].open = true;"
                          "all.forEach((one, index) => { if (index < place - 3 || index > place + 4) one.remove() })")
    show("report-explained", "section[aria-labelledby='" + driver.execute_script(
        "return [...document.querySelectorAll('h2')].find(one => one.textContent == 'The newest, one by one').id") + "']")
    (PLACE / "scope.html").write_text(terminal((scene / "scope.txt").read_text()))
    driver.get((PLACE / "scope.html").as_uri())
    show("scope", "pre")
    subprocess.run(["rm", "-rf", scene], check=True)


axe = (PLACE / "axe.min.js").read_text()
pages = {}
for name, near in [("day", 0), ("near", 1_000), ("nearer", 4_000)]:
    pages[name], seconds, memory = report(journal(name, 100_000, 1, near=near), "24h")
    size = pages[name].stat().st_size
    what = f"100 000 verdicts and {near} near misses"
    # However many clips are looked through, a page of a day is there at once; looking through very many takes its time.
    check(seconds <= (1 if near <= 1_000 else 10), f"{what}: {seconds:.2f} s")
    check(size <= 1_000_000, f"{what}: {size / 1e6:.2f} MB")
    check(memory <= 100, f"{what}: {memory:.0f} MB of memory")
page, seconds, memory = report(journal("month", 900_000, 30, near=10_000), "720h")
what = "900 000 verdicts, their events and 10 000 near misses of 30 days"
check(seconds <= 10, f"{what}: {seconds:.2f} s")
check(memory <= 100, f"{what}: {memory:.0f} MB of memory")
pages["older"], _, _ = report(journal("older", 3_000, 1, version=5), "24h")
pages["empty"], _, _ = report(journal("empty", 0, 1), "1h")
for name in ["day", "near", "nearer", "older", "empty"]:
    asked = subprocess.run([sys.executable, ROOT / "Tests/Scripts/report-numbers.py", pages[name], pages[name].parent / "journal.db"],
                           stdout=subprocess.PIPE, text=True)
    check(asked.returncode == 0, f"{name}: every number is what its question gives: {asked.stdout.strip()}")
driver = browser()
try:
    for name, page in pages.items():
        look(driver, name, page, axe)
    pictures(driver)
finally:
    driver.quit()
print(f"{len(wrong)} wrong")
sys.exit(1 if wrong else 0)
