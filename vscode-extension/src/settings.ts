/** Reads the settings that the extension itself acts on. The server is told of all of them by the language client. */

import * as vscode from "vscode";

export const SECTION = "dpor";

/** A change of one of these means another process; a change of any other is passed on to the running server. */
const NEEDS_RESTART = ["interpreter", "importStrategy", "args"];

export interface LaunchSettings {
  /** Path of a Python interpreter; null means the one that is selected in the editor. */
  readonly interpreter: string | null;
  readonly importStrategy: "fromEnvironment" | "useBundled";
  /** Further arguments for `dpor-lsp`. */
  readonly args: readonly string[];
}

/** `folder` is the workspace folder whose settings apply. */
export function launchSettings(folder: vscode.WorkspaceFolder | undefined): LaunchSettings {
  const section = vscode.workspace.getConfiguration(SECTION, folder?.uri);
  const interpreter = section.get<string | null>("interpreter")?.trim();
  return {
    interpreter: interpreter ? expand(interpreter, folder) : null,
    importStrategy: section.get("importStrategy") === "useBundled" ? "useBundled" : "fromEnvironment",
    args: section.get<string[]>("args") ?? [],
  };
}

/** All settings as the server expects them, with the interpreter that was found in the place of the one that was set. */
export function serverSettings(
  folder: vscode.WorkspaceFolder | undefined,
  interpreter: string | undefined,
): Record<string, unknown> {
  const section = JSON.parse(JSON.stringify(vscode.workspace.getConfiguration(SECTION, folder?.uri))) as object;
  return { ...section, interpreter: interpreter ?? null };
}

export function needsRestart(change: vscode.ConfigurationChangeEvent): boolean {
  return NEEDS_RESTART.some((name) => change.affectsConfiguration(`${SECTION}.${name}`));
}

function expand(path: string, folder: vscode.WorkspaceFolder | undefined): string {
  const home = process.env.HOME ?? process.env.USERPROFILE ?? "~";
  return path.replace(/^~(?=[/\\]|$)/u, home).replaceAll("${workspaceFolder}", folder?.uri.fsPath ?? "");
}
