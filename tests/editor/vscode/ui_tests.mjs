// Drives the user interface as a person would, in the browser that shows VS Code, and exits with 0 if it says what it
// should. With DPOR_SHOTS=FOLDER it leaves a picture of every part there, to look at.

import assert from "node:assert/strict";
import path from "node:path";

import { BANK, LONG, OTHER } from "./models.mjs";
import { openWorkbench, startVSCode } from "./vscode.mjs";

const PATIENCE = 40_000;
const settings = { "dpor.interpreter": process.env.DPOR_PYTHON };
const files = { "bank.py": BANK, "other.py": OTHER, "long.py": LONG, "pyproject.toml": "" };

class Window {
  constructor(page) {
    this.page = page;
    page.setDefaultTimeout(PATIENCE);
  }

  /** Runs a command of the palette by its full title. */
  async command(title) {
    await this.find("F1", title);
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** Loads the window anew as its command does, which lets it store first what is to be there again. */
  async reload() {
    await this.find("F1", "Developer: Reload Window");
    await Promise.all([this.page.waitForEvent("domcontentloaded"), this.page.keyboard.press("Enter")]);
    await this.page.waitForSelector(".monaco-workbench .part.statusbar");
  }

  async open(file) {
    await this.find("Control+P", file);
    await this.page.keyboard.press("Enter");
    await this.page.locator(".tab.active").filter({ hasText: file }).first().waitFor();
  }

  /** Types `text` into the list that `key` opens, until the entry with that text is the one to be taken. */
  async find(key, text) {
    const row = this.page.locator(".quick-input-list .monaco-list-row.focused").filter({ hasText: text });
    // While the window still settles, the list can close again, come without the entry, or miss the first letters.
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.page.keyboard.press(key);
        await this.page.locator(".quick-input-widget:visible").waitFor({ timeout: 10_000 });
        await this.page.keyboard.type(text);
        await row.waitFor({ timeout: 10_000 });
        return;
      } catch (error) {
        if (attempt === 4) {
          throw error;
        }
        await this.page.keyboard.press("Escape");
      }
    }
  }

  async goTo(line, column) {
    await this.page.keyboard.press("Control+G");
    await this.page.locator(".quick-input-widget:visible").waitFor();
    await this.page.keyboard.type(`${line}:${column}`);
    await this.shows(".quick-input-list .monaco-list-row", new RegExp(`line ${line}\\b`, "u"));
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** Waits until something of `selector` shows `text`. */
  shows(selector, text) {
    return this.page.locator(selector).filter({ hasText: text }).first().waitFor();
  }

  async picture(name) {
    if (process.env.DPOR_SHOTS) {
      // What is shown has been asserted; this is for what still moves.
      await this.page.waitForTimeout(1500);
      await this.page.screenshot({ path: path.join(process.env.DPOR_SHOTS, `${name}.png`) });
    }
  }

  /** The frame inside the webview that shows `text`. */
  async webview(text) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      for (const frame of this.page.frames()) {
        if ((await frame.getByText(text).count().catch(() => 0)) > 0) return frame;
      }
      assert.ok(Date.now() < end, `no webview shows ${text}`);
      await this.page.waitForTimeout(100);
    }
  }
}

const TESTS = {
  async "a violation is underlined, listed with its steps, and offered for replay"(window) {
    await window.open("bank.py");
    await window.shows(".codelens-decoration", "violated: deadlock");
    await window.page.locator(".squiggly-error").first().waitFor();
    await window.page.keyboard.press("Control+Shift+M");
    await window.shows(".markers-panel .monaco-list-row", "opposite_transfers: deadlock");
    await window.shows(".markers-panel .monaco-list-row", "acquires Account#1.lock");
    await window.picture("problems");
    await window.page.keyboard.press("Control+Shift+M");
    await window.page.keyboard.press("Control+1");
    await window.goTo(14, 10);
    await window.page.keyboard.press("Control+Period");
    await window.shows(".action-widget .monaco-list-row", "Replay the counterexample of opposite_transfers");
    await window.picture("quick_fix");
    await window.page.keyboard.press("Escape");
  },

  async "the counterexample is walked in the debugger, and the trace goes along both ways"(window) {
    await window.open("bank.py");
    await window.shows(".codelens-decoration", "violated: deadlock");
    await window.goTo(21, 5);
    await window.command("dpor: Replay Counterexample");
    await window.shows(".debug-toolbar", "");
    await window.shows(".debug-call-stack .monaco-list-row", "main.0");
    await window.page.locator(".debug-top-stack-frame-column, .debug-top-stack-frame-line").first().waitFor();
    await window.picture("replay");
    await window.open("bank.py");
    await window.goTo(21, 5);
    await window.command("dpor: Show Trace");
    const trace = await window.webview("Copy as text");
    const position = async () => Number(/step (\d+) of/u.exec(await trace.locator("body").innerText())?.[1]);
    const moves = async (action, wanted) => {
      const before = await position();
      await action();
      const end = Date.now() + PATIENCE;
      while (!wanted(before, await position())) {
        assert.ok(Date.now() < end, `the trace stays at step ${before}`);
        await window.page.waitForTimeout(50);
      }
    };
    await moves(() => window.page.locator(".debug-toolbar .codicon-debug-step-over").click(), (before, now) => now > before);
    await moves(() => window.page.locator(".debug-toolbar .codicon-debug-step-back").click(), (before, now) => now < before);
    await trace.getByText("starts main.1").first().click();
    await window.shows(".debug-call-stack .monaco-list-row", "paused on goto");
    // The page is walked with the keys too, so the debugger's editor must not keep the focus.
    await window.page.locator(".editor-group-container.active .tab.active").filter({ hasText: "Trace of" }).waitFor();
    await window.picture("trace");
    await window.page.locator(".debug-toolbar .codicon-debug-stop").click();
    await window.page.locator(".debug-toolbar").waitFor({ state: "hidden" });
    await window.command("View: Close All Editors");
  },

  async "a trace is open again after the window was loaded anew, at the step that it was at"(window) {
    await window.open("bank.py");
    await window.shows(".codelens-decoration", "violated: deadlock");
    await window.goTo(21, 5);
    await window.command("dpor: Show Trace");
    const trace = await window.webview("Copy as text");
    await trace.getByText("starts main.1").first().click();
    const isAt = async (frame, step) => {
      const end = Date.now() + PATIENCE;
      for (;;) {
        const text = /step (\d+) of/u.exec(await frame.locator("body").innerText())?.[1];
        if (text === step) return;
        assert.ok(Date.now() < end, `the trace is at step ${text} and not ${step}`);
        await window.page.waitForTimeout(50);
      }
    };
    const before = /step-(\d+)/u.exec(await trace.locator("#grid").getAttribute("aria-activedescendant"))?.[1];
    await isAt(trace, before);
    // The second time shows that the page still knows which trace it is.
    for (let time = 1; time <= 2; time += 1) {
      await window.reload();
      await isAt(await window.webview("Copy as text"), before);
    }
    await window.picture("trace_again");
    await window.command("View: Close All Editors");
  },

  async "the Test Explorer lists models, checks them, stops when asked, and shows a schedule"(window) {
    await window.command("Testing: Focus on Test Explorer View");
    for (const file of ["bank.py", "other.py", "long.py"]) await window.shows(".test-explorer .monaco-list-row", file);
    await window.page.locator(".test-explorer .monaco-list-row", { hasText: "long.py" }).click();
    await window.page.keyboard.press("ArrowRight");
    const row = window.page.locator(".test-explorer .monaco-list-row", { hasText: "many_orders" });
    await row.hover();
    await row.locator(".codicon-testing-run-icon").click();
    await window.shows(".test-explorer .monaco-list-row", "checking");
    await window.picture("checking");
    await window.command("Test: Cancel Test Run");
    await window.page.locator(".test-explorer .monaco-list-row", { hasText: /many_orders(?!.*checking)/u }).waitFor();
    await window.open("bank.py");
    await window.page.locator(".codicon-testing-failed-icon, .codicon-testing-error-icon").first().waitFor();
    await window.command("Test: Peek Output");
    await window.shows(".test-output-peek-message-container, .peekview-widget", "deadlock");
    await window.page.locator('.test-output-peek-message-container :text("Replay Counterexample"):visible, .monaco-button:visible:has-text("Replay Counterexample")').first().waitFor();
    await window.picture("test_peek");
  },
};

const UNTRUSTED = {
  async "nothing runs in a folder that is not trusted, and trust starts the checks"(window) {
    await window.open("bank.py");
    await window.page.locator('.statusbar-item[id*="languageStatus"]').click();
    await window.shows(".hover-language-status, .monaco-hover", "dpor: restricted mode");
    await window.picture("untrusted");
    await window.page.keyboard.press("Escape");
    assert.equal(await window.page.locator(".squiggly-error").count(), 0);
    await window.command("Workspaces: Manage Workspace Trust");
    await window.page.locator(".workspace-trust-buttons-row .monaco-button").first().click();
    await window.open("bank.py");
    await window.page.locator(".squiggly-error").first().waitFor();
    await window.shows(".codelens-decoration", "violated: deadlock");
    await window.picture("trusted");
  },
};

async function run(tests, options) {
  const vscode = await startVSCode({ files, settings, ...options });
  let failed = 0;
  try {
    let window = new Window(await openWorkbench(vscode));
    for (const [name, test] of Object.entries(tests)) {
      // A window that a loaded machine shows too late gets a second chance, which is told.
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        try {
          await test(window);
          console.log(`  ✔ ${name}${attempt === 1 ? "" : " (at the second attempt)"}`);
          break;
        } catch (error) {
          failed += attempt - 1;
          await window.picture(`failed_${name.slice(0, 20)}_${attempt}`);
          console.log(`  ✘ ${name}\n${error.stack}`);
          // What is left open must not bring down what comes next.
          await window.page.close();
          window = new Window(await openWorkbench(vscode));
        }
      }
    }
  } finally {
    await vscode.close();
  }
  return failed;
}

const failed = (await run(TESTS, {})) + (await run(UNTRUSTED, { trust: false }));
process.exit(failed === 0 ? 0 : 1);
