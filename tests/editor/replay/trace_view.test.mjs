// The trace view as a page in a real browser: from a file, and as a webview that talks with the editor.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, afterEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = process.env.DPOR_TEST_FOLDER;
const address = (name) => pathToFileURL(join(folder, `${name}.html`)).href;
const traceOf = (name) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));

let browser;
let page;
let problems;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.DPOR_TEST_BROWSER, args: ["--no-sandbox", "--disable-gpu"] });
});
after(() => browser.close());
afterEach(async () => {
  await page.close();
  assert.deepEqual(problems, []);
});

async function open(name, options = {}) {
  page = await browser.newPage({ viewport: { width: 1300, height: 800 }, reducedMotion: "reduce", ...options });
  problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || problems.push(`asked for ${request.url()}`));
  await page.goto(address(name));
}

const press = async (...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
const current = () => page.locator('.row[aria-selected="true"]').evaluate((row) => Number(row.dataset.step));
const shownSteps = () => page.locator(".row:not([hidden])").evaluateAll((rows) => rows.map((row) => Number(row.dataset.step)));
const state = () => page.locator("#state tbody tr").evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.cells[0].textContent, row.cells[1].textContent])));

describe("the schedule", () => {
  beforeEach(() => open("lost_update"));

  it("has one column a thread and one row a step, with the words of the report", async () => {
    assert.deepEqual(await page.locator("#heads [role=columnheader]").allTextContents(), ["Step", "main", "main.0", "main.1"]);
    const { steps } = traceOf("lost_update");
    assert.deepEqual(await shownSteps(), [0, ...steps.map((step) => step.index)]);
    const phrases = await page.locator(".phrase").allTextContents();
    assert.deepEqual(phrases, steps.map((step) => step.phrase));
  });

  it("puts a step into the column of its thread", async () => {
    const left = (selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().left);
    const { steps } = traceOf("lost_update");
    const step = steps.find((candidate) => candidate.thread === "main.1");
    assert.equal(await left(`#step-${step.index} .cell`), await left("#heads > div:nth-child(4)"));
  });

  it("shows what a write changes", async () => {
    const { steps } = traceOf("lost_update");
    const write = steps.find((step) => step.operation === "store" && step.thread === "main.1");
    assert.equal(await page.locator(`#step-${write.index} .change`).textContent(), "Counter#1.value: 0 → 1");
  });

  it("names the failure at its top and marks its step", async () => {
    assert.equal(await page.locator("#verdict").textContent(), "DPOR201 assertion (lost update): assertion failed: counter.value == 2");
    const { failure } = traceOf("lost_update");
    assert.deepEqual(await page.locator(".row.failed").evaluateAll((rows) => rows.map((row) => Number(row.dataset.step))), [failure.step]);
  });
});

describe("the keyboard", () => {
  beforeEach(() => open("lost_update"));

  it("scrubs with arrows, j and k, Home and End", async () => {
    await press("ArrowDown", "j", "ArrowRight");
    assert.equal(await current(), 3);
    await press("k", "ArrowUp");
    assert.equal(await current(), 1);
    await press("End");
    assert.equal(await current(), traceOf("lost_update").steps.length);
    await press("Home");
    assert.equal(await current(), 0);
    await press("k");
    assert.equal(await current(), 0);
  });

  it("stays within a thread with Shift, and finds changes of a variable", async () => {
    const { steps } = traceOf("lost_update");
    const writes = steps.filter((step) => step.changes.some((change) => change.variable === "Counter#1.value"));
    await press("End", "[");
    assert.equal(await current(), writes.at(-1).index);
    await press("[");
    assert.equal(await current(), writes.at(-2).index);
    await press("Shift+ArrowUp");
    const before = steps.filter((step) => step.thread === writes.at(-2).thread && step.index < writes.at(-2).index);
    assert.equal(await current(), before.at(-1).index);
  });

  it("works as soon as the page is there, and from the filters too", async () => {
    assert.equal(await page.evaluate(() => document.activeElement.id), "grid");
    await page.locator("#only-matters").focus();
    await press("j");
    assert.equal(await current(), 1);
  });

  it("tells a screen reader where it is", async () => {
    await press("j");
    assert.equal(await page.locator("#grid").getAttribute("aria-activedescendant"), "step-1");
    assert.match(await page.locator("#live").textContent(), /^Step 1, main: writes Counter#1.value ← 0; lost_update.py line 6/);
  });
});

describe("the details", () => {
  it("have the state after the step, what changed, the locals and every thread's line", async () => {
    await open("lost_update");
    const { steps } = traceOf("lost_update");
    const write = steps.find((step) => step.operation === "store" && step.thread === "main.1");
    await page.locator(`#step-${write.index}`).click();
    assert.deepEqual(await state(), { "Counter#1.value": "1" });
    assert.equal(await page.locator("#state tr.changed td").nth(2).textContent(), "0");
    assert.deepEqual(await page.locator("#locals td").allTextContents(), ["self", "Counter#1", "seen", "0"]);
    const places = await page.locator("#places .place").allTextContents();
    assert.equal(places[0], "main lost_update.py:18 waits for the end of main.0");
    assert.equal(places[1], "main.0 lost_update.py:9 reads Counter#1.value = 0");
    assert.match(await page.locator("#code .here").textContent(), /self.value = seen \+ 1/);
    await press("Home");
    assert.deepEqual(await state(), { "Counter#1.value": "not there yet" });
  });

  it("say who holds and who waits in a deadlock", async () => {
    await open("deadlock");
    await press("End");
    const holdings = await page.locator("#holdings .place").allTextContents();
    assert.deepEqual(holdings.toSorted?.() ?? [...holdings].sort(), ["left: held by main.0; main.1 waits for it", "main.0: still runs; main waits for it", "right: held by main.1; main.0 waits for it"]);
    const places = await page.locator("#places .place").allTextContents();
    assert.equal(places[1], "main.0 deadlock.py:8 waits for right, held by main.1");
  });
});

describe("the filters", () => {
  beforeEach(() => open("lost_update"));
  const indices = (wanted) => [0, ...traceOf("lost_update").steps.filter(wanted).map((step) => step.index)];

  it("leave what matters, what changes, one thread or one variable", async () => {
    await page.locator("#only-matters").check();
    assert.deepEqual(await shownSteps(), indices((step) => step.matters));
    await press("m", "h");
    assert.deepEqual(await shownSteps(), indices((step) => step.changes.length || step.operation === "failure"));
    await press("h");
    await page.locator("#threads input").nth(0).uncheck();
    assert.deepEqual(await shownSteps(), indices((step) => step.thread !== "main"));
    await page.locator("#threads input").nth(0).check();
    await page.locator("#variable").selectOption("Counter#1.value");
    assert.deepEqual(await shownSteps(), indices((step) => step.reads.length || step.changes.length || step.operation === "failure"));
  });

  it("let stepping skip what is hidden, and say how much is", async () => {
    await press("m");
    await press("j", "j");
    assert.equal(await current(), indices((step) => step.matters)[2]);
    assert.match(await page.locator("#position").textContent(), /\(\d+ hidden\)/);
  });

  it("offer a way out where nothing is left", async () => {
    for (const box of await page.locator("#threads input").all()) await box.uncheck();
    await page.locator("#clear").click();
    assert.deepEqual(await shownSteps(), indices(() => true));
  });
});

describe("copying", () => {
  it("gives the steps shown as text", async () => {
    await open("lost_update", { permissions: ["clipboard-read", "clipboard-write"] });
    await page.evaluate(() => {
      navigator.clipboard.writeText = async (text) => { window.copied = text; };
    });
    await press("m", "c");
    await page.waitForFunction(() => window.copied);
    const text = await page.evaluate(() => window.copied);
    assert.match(text, /^lost_update.py::model\nDPOR201 assertion: assertion failed: counter.value == 2\n/);
    assert.match(text, /main\.1 {2}writes Counter#1\.value ← 1 +lost_update\.py:10 {2}Counter#1\.value: 0 → 1/);
    assert.match(text, /dpor1:/);
    assert.equal(text.split("\n").filter((line) => /^ *\d+ /.test(line)).length, traceOf("lost_update").steps.filter((step) => step.matters).length);
    assert.match(await page.locator("#status").textContent(), /^Copied \d+ steps\.$/);
  });
});

describe("in an editor", () => {
  beforeEach(async () => {
    page = await browser.newPage();
    problems = [];
    page.on("pageerror", (error) => problems.push(error.message));
    await page.addInitScript(() => {
      window.posted = [];
      window.acquireVsCodeApi = () => ({ postMessage: (message) => window.posted.push(message), getState: () => window.kept, setState: (kept) => { window.kept = kept; } });
    });
    await page.goto(address("lost_update"));
  });
  const posted = () => page.evaluate(() => window.posted);

  it("tells the editor of every step that the user goes to", async () => {
    await press("j", "j");
    assert.deepEqual(await posted(), [{ type: "goto", step: 1 }, { type: "goto", step: 2 }]);
  });

  it("follows the debugger without answering, also to a step that is filtered out", async () => {
    await press("m");
    await page.evaluate(() => window.postMessage({ type: "step", step: 2 }, "*"));
    await page.waitForSelector('#step-2[aria-selected="true"]:not([hidden])');
    assert.deepEqual(await posted(), []);
    await page.evaluate(() => window.postMessage({ type: "step", step: 6 }, "*"));
    await page.waitForSelector('#step-6[aria-selected="true"]');
    assert.equal(await page.locator("#step-2").isHidden(), true);
  });

  it("keeps which counterexample it shows, and where it is, for a window that is opened again", async () => {
    const reference = { uri: "file:///bank.py", model: "transfer" };
    await page.evaluate((kept) => window.postMessage({ type: "reference", reference: kept }, "*"), reference);
    await page.waitForFunction(() => window.kept?.reference !== undefined);
    await press("j", "j");
    const { reference: kept, step } = await page.evaluate(() => window.kept);
    assert.deepEqual([kept, step], [reference, 2]);
  });

  it("asks the editor to open a source line", async () => {
    await page.locator("#step-1 .link").click();
    assert.deepEqual((await posted()).at(-1), { type: "open", file: "lost_update.py", line: 6, column: 9 });
  });
});

describe("the page", () => {
  it("runs its own script only and asks for nothing", async () => {
    await open("lost_update");
    const policy = await page.locator("meta[http-equiv]").getAttribute("content");
    assert.match(policy, /^default-src 'none'; style-src 'nonce-[\w-]+'; script-src 'nonce-[\w-]+'; base-uri 'none'; form-action 'none'$/);
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.injected = true";
      document.body.append(script);
      return Boolean(window.injected);
    });
    assert.equal(ran, false);
    problems = problems.filter((problem) => !/Content Security Policy/.test(problem));
    assert.ok(!readFileSync(join(folder, "lost_update.html"), "utf8").includes(folder), "no path of the machine is in it");
  });

  it("is quick and readable at 200 steps", async () => {
    const begun = Date.now();
    await open("long");
    assert.ok(traceOf("long").steps.length >= 200);
    await page.waitForSelector('.row[aria-selected="true"]');
    const loaded = Date.now() - begun;
    await press("End", "PageUp");
    const visible = await page.locator('.row[aria-selected="true"]').evaluate((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });
    assert.ok(visible, "the current step is in view");
    assert.ok(loaded < 20000, `it took ${loaded} ms`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(wide, "the page itself does not scroll sideways");
  });

  it("keeps the thread that acts in view in a narrow window", async () => {
    await open("lost_update", { viewport: { width: 520, height: 700 } });
    const { steps } = traceOf("lost_update");
    for (const thread of ["main.1", "main"]) {
      await page.locator("#slider").fill(String(steps.find((step) => step.thread === thread && step.matters).index));
      const { left, right } = await page.locator('.row[aria-selected="true"] .cell').evaluate((cell) => cell.getBoundingClientRect().toJSON());
      assert.ok(left >= -1 && right <= 521, `${thread}: ${left} to ${right}`);
    }
  });

  for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["high contrast", { colorScheme: "dark", forcedColors: "active" }]]) {
    it(`has enough contrast in ${name}`, async () => {
      await open("lost_update", options);
      await press("j", "j", "j");
      const ratios = await page.evaluate(() => {
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const rgb = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const back = (element) => { for (let at = element; at; at = at.parentElement) { const color = rgb(getComputedStyle(at).backgroundColor); if (color[3] > 200) return color; } return [255, 255, 255]; };
        return ["#model", "#verdict .broken", "#position", ".row.faint:not(.later) .phrase", '.row[aria-selected="true"] .phrase', ".heads .lane", "#where .link", ".row:not(.later) .number"].map((selector) => {
          const element = document.querySelector(selector);
          const [one, two] = [light(rgb(getComputedStyle(element).color)), light(back(element))].sort((a, b) => b - a);
          return [selector, (one + 0.05) / (two + 0.05)];
        });
      });
      for (const [selector, ratio] of ratios) assert.ok(ratio >= 4.5, `${selector}: ${ratio.toFixed(2)}`);
    });
  }

  it("gives tasks of an event loop a column each", async () => {
    await open("tasks");
    assert.deepEqual(await page.locator("#heads [role=columnheader]").allTextContents(), ["Step", "main", "take (main:1)", "take (main:2)"]);
  });
});
