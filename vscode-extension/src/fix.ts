/** Tells that the server cannot be started, in one message with the fixes as its buttons. */

import * as path from "node:path";

import * as vscode from "vscode";

import { chooseInterpreter } from "./interpreter";
import { installLine, FIX_LABELS, missing, type Fix, type MissingReason } from "./missing";
import type { Server } from "./server";

export const WALKTHROUGH = "dpor.dpor-lsp#dpor.start";

/** Shows why there is no server and offers what helps; says so if there is one. */
export async function fix(server: Server, extensionPath: string): Promise<void> {
  const reason = server.missingReason;
  if (reason === undefined) {
    const phase = server.phase;
    void vscode.window.showInformationMessage(
      phase.kind === "running" ? `dpor-lsp ${phase.version} runs under ${phase.interpreter}.` : server.absence(),
    );
    return;
  }
  const { sentence, fixes } = missing(reason, server.bundle.available);
  const labels = fixes.map((each) => FIX_LABELS[each]);
  const choice = await vscode.window.showWarningMessage(sentence, ...labels);
  const chosen = fixes.find((each) => FIX_LABELS[each] === choice);
  if (chosen !== undefined) {
    await carryOut(chosen, reason, server, extensionPath);
  }
}

async function carryOut(chosen: Fix, reason: MissingReason, server: Server, extensionPath: string): Promise<void> {
  switch (chosen) {
    case "install":
      if (reason.kind === "probe") {
        install(reason.interpreter, server, extensionPath);
      }
      return;
    case "bundled":
      await vscode.workspace
        .getConfiguration("dpor")
        .update("importStrategy", "useBundled", vscode.workspace.workspaceFolders === undefined);
      return;
    case "choose":
      await chooseInterpreter();
      return;
    case "documentation":
      await vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false);
  }
}

/** Runs pip where the person sees it, and starts the server when it has succeeded. */
function install(interpreter: string, server: Server, extensionPath: string): void {
  const what = server.bundle.wheel ?? "dpor-lsp";
  const terminal = vscode.window.createTerminal({ name: "Install dpor-lsp", cwd: path.dirname(extensionPath) });
  const line = installLine(interpreter, what, vscode.env.shell);
  terminal.show();
  let sent = false;
  const started = vscode.window.onDidChangeTerminalShellIntegration(({ terminal: changed, shellIntegration }) => {
    if (changed === terminal && !sent) {
      sent = true;
      shellIntegration.executeCommand(line);
    }
  });
  // A shell without integration runs the line too, but does not tell when it has ended.
  const fallback = setTimeout(() => {
    if (!sent) {
      sent = true;
      terminal.sendText(line);
    }
  }, 3000);
  const ended = vscode.window.onDidEndTerminalShellExecution((event) => {
    if (event.terminal === terminal && event.exitCode === 0) {
      void server.restart(true);
    }
  });
  const closed = vscode.window.onDidCloseTerminal((which) => {
    if (which === terminal) {
      clearTimeout(fallback);
      [started, ended, closed].forEach((each) => void each.dispose());
      if (server.phase.kind === "missing") {
        void server.restart(false);
      }
    }
  });
}
