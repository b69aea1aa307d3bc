/** Finds the Python interpreter under which server, workers and debug adapter run. */

import { PythonEnvironments } from "@vscode/python-environments";
import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

import { findOnPath, isInside } from "./paths";

export interface Interpreter {
  readonly path: string;
  /** Where it comes from, in words. */
  readonly source: string;
}

const ENVIRONMENTS_EXTENSION = "ms-python.vscode-python-envs";
const PYTHON_EXTENSION = "ms-python.python";

/**
 * Looks at the setting, then at the two extensions that know of a selected interpreter, then at the search path.
 * In a workspace that is not trusted the extensions are not asked, and an interpreter that lies in the workspace
 * does not count, because to start it would be to run the workspace's code. Returns undefined if there is none.
 */
export async function findInterpreter(
  setting: string | null,
  folder: vscode.WorkspaceFolder | undefined,
  log: vscode.LogOutputChannel,
): Promise<Interpreter | undefined> {
  const trusted = vscode.workspace.isTrusted;
  const folders = (vscode.workspace.workspaceFolders ?? []).map((each) => each.uri.fsPath);
  const allowed = (file: string): boolean => trusted || !isInside(file, folders);
  if (setting !== null) {
    return allowed(setting) ? { path: setting, source: "the setting dpor.interpreter" } : undefined;
  }
  if (trusted) {
    for (const [id, ask] of [
      [ENVIRONMENTS_EXTENSION, fromEnvironments],
      [PYTHON_EXTENSION, fromPythonExtension],
    ] as const) {
      try {
        const path = vscode.extensions.getExtension(id) === undefined ? undefined : await ask(folder?.uri);
        if (path !== undefined) {
          return { path, source: `the extension ${id}` };
        }
      } catch (error) {
        log.warn(`${id} did not tell the selected interpreter: ${String(error)}`);
      }
    }
  }
  const path = findOnPath(["python3", "python"], process.env.PATH ?? "", allowed);
  return path === undefined ? undefined : { path, source: "the search path" };
}

/** Calls `changed` whenever another interpreter may have been selected. */
export async function watchInterpreter(
  changed: () => void,
  subscriptions: vscode.Disposable[],
  log: vscode.LogOutputChannel,
): Promise<void> {
  const subscribed = new Set<string>();
  const subscribe = async (): Promise<void> => {
    for (const [id, register] of [
      [ENVIRONMENTS_EXTENSION, async () => (await PythonEnvironments.api()).onDidChangeEnvironment(changed)],
      [
        PYTHON_EXTENSION,
        async () => (await PythonExtension.api()).environments.onDidChangeActiveEnvironmentPath(changed),
      ],
    ] as const) {
      if (subscribed.has(id) || !vscode.workspace.isTrusted || vscode.extensions.getExtension(id) === undefined) {
        continue;
      }
      subscribed.add(id);
      try {
        subscriptions.push(await register());
      } catch (error) {
        log.warn(`Changes of the interpreter selected in ${id} will not be noticed: ${String(error)}`);
      }
    }
  };
  subscriptions.push(
    vscode.extensions.onDidChange(() => void subscribe()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void subscribe()),
  );
  await subscribe();
}

/** Opens whatever lets the user select an interpreter; without a Python extension that is the setting. */
export async function chooseInterpreter(): Promise<void> {
  const commands = new Set(await vscode.commands.getCommands(true));
  const command = ["python-envs.set", "python.setInterpreter"].find((each) => commands.has(each));
  if (command !== undefined) {
    await vscode.commands.executeCommand(command);
  } else {
    await vscode.commands.executeCommand("workbench.action.openSettings", "dpor.interpreter");
  }
}

async function fromEnvironments(scope: vscode.Uri | undefined): Promise<string | undefined> {
  const environment = await (await PythonEnvironments.api()).getEnvironment(scope);
  return environment?.execInfo.run.executable;
}

async function fromPythonExtension(scope: vscode.Uri | undefined): Promise<string | undefined> {
  const { environments } = await PythonExtension.api();
  const active = environments.getActiveEnvironmentPath(scope);
  const resolved = await environments.resolveEnvironment(active);
  return resolved?.executable.uri?.fsPath;
}
