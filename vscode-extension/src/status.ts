/** Shows in the language status item what holds for the active file. */

import * as vscode from "vscode";

import type { Server } from "./server";
import { statusText, type StatusText } from "./statusText";
import type { ModelStore } from "./store";

const SEVERITY: Record<StatusText["severity"], vscode.LanguageStatusSeverity> = {
  information: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
};

const ACTIONS: Record<StatusText["action"], vscode.Command> = {
  output: { command: "dpor.showOutput", title: "Show Output" },
  restart: { command: "dpor.restartServer", title: "Restart Server" },
  trust: { command: "workbench.trust.manage", title: "Manage Trust" },
  fix: { command: "dpor.fix", title: "Fix" },
  checkFile: { command: "dpor.checkFile", title: "Check File" },
};

export function showStatus(server: Server, store: ModelStore, subscriptions: vscode.Disposable[]): void {
  const item = vscode.languages.createLanguageStatusItem("dpor.status", { language: "python", scheme: "file" });
  item.name = "dpor";
  const update = (): void => {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    const status = statusText(server.phase, uri === undefined ? null : store.of(uri));
    item.text = status.text;
    item.detail = status.detail;
    item.severity = SEVERITY[status.severity];
    item.busy = status.busy;
    item.command = ACTIONS[status.action];
  };
  subscriptions.push(
    item,
    server.onPhase(update),
    vscode.window.onDidChangeActiveTextEditor(update),
    new vscode.Disposable(
      store.onChange((uri) => {
        if (uri === vscode.window.activeTextEditor?.document.uri.toString()) {
          update();
        }
      }),
    ),
  );
  update();
}
