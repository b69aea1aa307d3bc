/** Puts the parts together when VS Code activates the extension. */

import * as vscode from "vscode";

import { registerCommands } from "./commands";
import { Replay } from "./debug";
import { InlineValues } from "./inlineValues";
import { watchInterpreter } from "./interpreter";
import { ModelOutput } from "./output";
import { needsRestart, SECTION } from "./settings";
import { Server } from "./server";
import { showStatus } from "./status";
import { ModelStore } from "./store";
import { Targets } from "./targets";
import { TestExplorer } from "./testExplorer";
import { TraceViews } from "./traceView";

/** What tests in a real VS Code can look at. */
export interface Exports {
  readonly server: Server;
  readonly store: ModelStore;
}

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): Exports {
  const log = vscode.window.createOutputChannel("dpor", { log: true });
  const store = new ModelStore();
  const server = new Server(context, store, log);
  running = server;
  const replay = new Replay(server, store);
  const tests = new TestExplorer(server, store, (reference) => replay.start(reference));
  const targets = new Targets(server, store, tests);
  replay.register(targets);
  const views = new TraceViews(server, replay, store);
  const output = new ModelOutput(server);
  const { subscriptions } = context;
  subscriptions.push(log, server, replay, tests, views, output);
  showStatus(server, store, subscriptions);
  tellContexts(server, store, subscriptions);
  registerCommands({ server, targets, replay, views, output, log }, context);
  watchFiles(server, log, subscriptions);
  subscriptions.push(
    vscode.languages.registerInlineValuesProvider({ language: "python" }, new InlineValues()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (needsRestart(change)) {
        void server.restart(true);
      } else if (change.affectsConfiguration(SECTION)) {
        server.configure().catch((error: unknown) => log.error(`The settings did not reach the server: ${String(error)}`));
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.restart(true)),
  );
  void watchInterpreter(() => void server.interpreterMayHaveChanged(), subscriptions, log);
  void server.restart(false);
  return { server, store };
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}

/** Tells VS Code what has been reached, for which steps of the walkthrough wait. */
function tellContexts(server: Server, store: ModelStore, subscriptions: vscode.Disposable[]): void {
  const tell = (name: string, value: boolean): void => {
    void vscode.commands.executeCommand("setContext", `dpor.${name}`, value);
  };
  subscriptions.push(
    server.onPhase(({ kind }) => tell("running", kind === "running")),
    new vscode.Disposable(
      store.onChange(() => {
        const states = store.all().map(({ state }) => state);
        tell("hasModels", states.length > 0);
        tell("hasVerdict", states.some((state) => state === "verified" || state === "violated"));
      }),
    ),
  );
}

/** Lists the models again when files come or go; what is in a file the server tells by itself. */
function watchFiles(server: Server, log: vscode.LogOutputChannel, subscriptions: vscode.Disposable[]): void {
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.py", false, true, false);
  let timer: NodeJS.Timeout | undefined;
  const refresh = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (server.phase.kind === "running") {
        server.refresh().catch((error: unknown) => log.error(`The models could not be listed: ${String(error)}`));
      }
    }, 500);
  };
  subscriptions.push(
    watcher,
    watcher.onDidCreate(refresh),
    watcher.onDidDelete(refresh),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}
