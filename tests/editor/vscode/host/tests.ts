/** The extension in a real VS Code, with the real server. The workspace holds `bank.py`, a model that deadlocks. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

import * as vscode from "vscode";

import type { Exports } from "../../../../vscode-extension/src/extension";
import type { ModelState } from "../../../../vscode-extension/src/protocol";

const ID = "dpor.dpor-lsp";

function file(name: string): vscode.Uri {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder, "the tests need a workspace");
  return vscode.Uri.joinPath(folder.uri, name);
}

async function exports(): Promise<Exports> {
  const extension = vscode.extensions.getExtension<Exports>(ID);
  assert.ok(extension, "the extension is not there");
  return extension.isActive ? extension.exports : extension.activate();
}

/** Waits until `look` gives something, for at most `seconds`. */
async function eventually<T>(what: string, look: () => T | undefined | Promise<T | undefined>, seconds = 30): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`${what}: not in ${seconds} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function state(name: string, wanted: ModelState["state"], model = "opposite_transfers"): Promise<ModelState> {
  const { store } = await exports();
  let last = "unknown";
  return eventually(`${model} is ${wanted}`, () => {
    const found = store.find(file(name).toString(), model);
    last = found?.state ?? last;
    return found?.state === wanted ? found : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${last}`);
  });
}

async function running(): Promise<void> {
  const { server } = await exports();
  await eventually("the server runs", () => (server.phase.kind === "running" ? true : undefined)).catch((error: unknown) => {
    throw new Error(`${String(error)}; ${server.phase.kind}: ${server.absence()}`);
  });
}

async function configure(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration("dpor").update(name, value, vscode.ConfigurationTarget.Global);
}

async function replaceIn(document: vscode.TextDocument, old: string, text: string): Promise<void> {
  const start = document.getText().indexOf(old);
  assert.ok(start >= 0, `${old} is not in the text`);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(document.positionAt(start), document.positionAt(start + old.length)), text);
  assert.ok(await vscode.workspace.applyEdit(edit));
}

/** Saves; VS Code refuses to now and then while it is busy. */
async function save(document: vscode.TextDocument): Promise<void> {
  await eventually("the file is saved", async () => {
    await document.save();
    return document.isDirty ? undefined : true;
  });
}

async function lenses(uri: vscode.Uri): Promise<string[]> {
  const found = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", uri, 50);
  return found.map(({ command }) => command?.title ?? "");
}

async function actions(uri: vscode.Uri, line: number): Promise<vscode.CodeAction[]> {
  const range = new vscode.Range(line, 8, line, 8);
  return vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", uri, range, "quickfix");
}

export function defineTests(): void {
  describe("checking", () => {
    it("shows a violation where it is, with its code, its schedule and its steps", async () => {
      await vscode.window.showTextDocument(file("bank.py"));
      await running();
      await state("bank.py", "violated");
      const diagnostic = await eventually("the squiggle", () =>
        vscode.languages.getDiagnostics(file("bank.py")).find(({ severity }) => severity === vscode.DiagnosticSeverity.Error),
      );
      assert.equal(diagnostic.source, "dpor");
      assert.equal(typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code, "DPOR203");
      const text = (await vscode.workspace.openTextDocument(file("bank.py"))).getText(diagnostic.range);
      assert.equal(text, "with target.lock");
      assert.match(diagnostic.message, /deadlock/u);
      assert.ok((diagnostic.relatedInformation ?? []).length >= 2);
    });

    it("offers to replay it, to show it and to pin it, on the line and as lenses", async () => {
      const uri = file("bank.py");
      const line = vscode.languages.getDiagnostics(uri)[0]?.range.start.line ?? 0;
      const commands = (await actions(uri, line)).map(({ command }) => command?.command);
      for (const command of ["dpor.replayTrace", "dpor.showTrace", "dpor.showSchedule", "dpor.server.pinTest"]) {
        assert.ok(commands.includes(command), command);
      }
      const titles = await lenses(uri);
      assert.ok(titles.some((title) => title.includes("violated")) && titles.includes("replay"), titles.join(" | "));
    });

    it("calls a verdict stale as soon as the text changes, and checks on saving", async () => {
      const document = await vscode.workspace.openTextDocument(file("bank.py"));
      await vscode.window.showTextDocument(document);
      await replaceIn(document, "dpor.spawn(transfer, b, a, 50)", "dpor.spawn(transfer, a, b, 50)");
      await state("bank.py", "stale");
      await save(document);
      assert.equal((await state("bank.py", "verified")).expected, true);
      await eventually("no squiggle", () => (vscode.languages.getDiagnostics(document.uri).length === 0 ? true : undefined));
      await replaceIn(document, "dpor.spawn(transfer, a, b, 50)", "dpor.spawn(transfer, b, a, 50)");
      await save(document);
      await state("bank.py", "violated");
    });

    it("lists the models of files that nobody has opened", async () => {
      await state("other.py", "unchecked", "counted");
    });

    it("checks what a command names", async () => {
      await vscode.commands.executeCommand("dpor.checkModel", file("other.py").toString(), "counted");
      await state("other.py", "verified", "counted");
    });
  });

  describe("settings", () => {
    after(async () => {
      await configure("codeLens", undefined);
      await configure("checkOn", undefined);
    });

    it("can turn lenses off and on", async () => {
      await configure("codeLens", false);
      await eventually("no lenses", async () => ((await lenses(file("bank.py"))).length === 0 ? true : undefined));
      await configure("codeLens", true);
      await eventually("lenses", async () => ((await lenses(file("bank.py"))).length > 0 ? true : undefined));
    });

    it("can leave checking to the user", async () => {
      await configure("checkOn", "manual");
      const document = await vscode.workspace.openTextDocument(file("bank.py"));
      await replaceIn(document, "dpor.join_all()\n", "dpor.join_all()  # changed\n");
      await state("bank.py", "stale");
      await save(document);
      await vscode.commands.executeCommand("dpor.checkFile", document.uri);
      await state("bank.py", "violated");
      await replaceIn(document, "dpor.join_all()  # changed\n", "dpor.join_all()\n");
      await save(document);
      await configure("checkOn", "save");
      await vscode.commands.executeCommand("dpor.checkFile", document.uri);
      await state("bank.py", "violated");
    });
  });

  describe("replaying", () => {
    after(async () => {
      await vscode.debug.stopDebugging();
      await vscode.commands.executeCommand("workbench.action.closeAllEditors");
      await vscode.window.showTextDocument(file("bank.py"));
    });

    it("opens the debugger on the counterexample, and steps forwards and back", async () => {
      await state("bank.py", "violated");
      const steps: number[] = [];
      const subscription = vscode.debug.onDidReceiveDebugSessionCustomEvent(({ event, body }) => {
        if (event === "dpor/step") {
          steps.push((body as { step: number }).step);
        }
      });
      await vscode.commands.executeCommand("dpor.replayTrace", file("bank.py").toString(), "opposite_transfers", 0);
      const session = await eventually("a session", () => vscode.debug.activeDebugSession);
      assert.equal(session.type, "dpor");
      const item = await eventually("a stop", () => vscode.debug.activeStackItem);
      assert.ok(item instanceof vscode.DebugStackFrame);
      const first = await eventually("the first step", () => steps.at(-1));
      const { threadId } = item;
      await session.customRequest("next", { threadId });
      const second = await eventually("a later step", () => steps.find((step) => step > first));
      await session.customRequest("stepBack", { threadId });
      await eventually("an earlier step", () => steps.slice(steps.indexOf(second)).find((step) => step < second)).catch(() => {
        assert.fail(`after ${first} and ${second}, stepping back led along ${steps.join(", ")}`);
      });
      const { scopes } = (await session.customRequest("scopes", { frameId: item.frameId })) as { scopes: { name: string }[] };
      assert.deepEqual(scopes.map(({ name }) => name), ["Locals", "Shared state", "Locks", "Schedule"]);
      subscription.dispose();
    });

    it("shows the trace beside the source", async () => {
      await vscode.commands.executeCommand("dpor.showTrace", file("bank.py").toString(), "opposite_transfers", 0);
      const tab = await eventually("the trace", () =>
        vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).find(({ input }) => input instanceof vscode.TabInputWebview),
      );
      assert.equal(tab.label, "Trace of opposite_transfers");
    });

    it("shows the schedule as text", async () => {
      await vscode.commands.executeCommand("dpor.showSchedule", file("bank.py").toString(), "opposite_transfers", 0);
      const document = await eventually("the schedule", () =>
        vscode.workspace.textDocuments.find(({ uri }) => uri.path.includes("/schedules/")),
      );
      assert.match(document.getText(), /DPOR203 deadlock[^]*dpor1:/u);
    });

    it("replays what a launch configuration names", async () => {
      await vscode.debug.stopDebugging();
      await eventually("no session", () => (vscode.debug.activeDebugSession === undefined ? true : undefined));
      const configuration = { type: "dpor", request: "launch", name: "r", model: "${workspaceFolder}/bank.py::opposite_transfers" };
      assert.ok(await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], configuration));
      await eventually("a stop", () => vscode.debug.activeStackItem);
    });
  });

  describe("the server's life", () => {
    it("starts again when it dies, and the verdicts come back", async () => {
      const { server, store } = await exports();
      const phases: string[] = [];
      const subscription = server.onPhase(({ kind }) => phases.push(kind));
      const [pid] = children();
      assert.ok(pid !== undefined, "no server process");
      process.kill(pid, "SIGKILL");
      await eventually("it is noticed", () => (phases.includes("waiting") ? true : undefined));
      assert.deepEqual(store.all(), [], "verdicts without a server");
      await running();
      await state("bank.py", "violated");
      subscription.dispose();
      assert.notEqual(children()[0], pid);
    });

    it("restarts on command and leaves no process behind", async () => {
      const before = children();
      await vscode.commands.executeCommand("dpor.restartServer");
      await running();
      await eventually("one new process", () => {
        const now = children();
        return now.length === 1 && now[0] !== before[0] ? true : undefined;
      });
      await state("bank.py", "violated");
    });

    it("says what is missing, and comes back when it is not any more", async () => {
      const { server } = await exports();
      const interpreter = vscode.workspace.getConfiguration("dpor").get<string>("interpreter");
      await configure("interpreter", process.env.DPOR_BARE_PYTHON);
      await eventually("it is missing", () => (server.phase.kind === "missing" ? true : undefined));
      assert.match(server.absence(), /dpor-lsp is not installed for the selected interpreter, Python 3/u);
      await configure("interpreter", "/nowhere/python");
      await eventually("it is broken", () => (server.absence().includes("/nowhere/python") ? true : undefined));
      await configure("interpreter", interpreter);
      await running();
      await state("bank.py", "violated");
    });
  });
}

/** Process numbers of the servers that this extension host has started. */
function children(): number[] {
  const lines = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => /-m dpor_lsp .*--stdio/u.test(line)).map((line) => Number.parseInt(line, 10));
}
