/** Replays a recorded counterexample in the debugger: `dpor-lsp --debug-adapter` under the server's interpreter. */

import * as path from "node:path";

import * as vscode from "vscode";

import { Method, type ModelReference, STEP, type StepEvent } from "./protocol";
import { referenceKey } from "./references";
import type { Server } from "./server";
import type { ModelStore } from "./store";
import type { Targets } from "./targets";

export const DEBUG_TYPE = "dpor";

/** What a launch configuration of this type may hold; `reference` is set by this extension only. */
interface ReplayConfiguration extends vscode.DebugConfiguration {
  trace?: string;
  model?: string;
  schedule?: string;
  parameters?: Record<string, unknown>;
  options?: Record<string, unknown>;
  cwd?: string;
  reference?: ModelReference;
}

export interface StepNews {
  readonly session: vscode.DebugSession;
  /** Which counterexample is replayed, if the replay was started from a model. */
  readonly key: string | undefined;
  readonly event: StepEvent;
}

export class Replay implements vscode.Disposable, vscode.DebugAdapterDescriptorFactory {
  private readonly subscriptions: vscode.Disposable[] = [];
  private readonly stepped = new vscode.EventEmitter<StepNews>();
  private readonly sessions = new Map<string, vscode.DebugSession>();
  private readonly last = new Map<string, StepEvent>();
  readonly onStep = this.stepped.event;

  constructor(
    private readonly server: Server,
    private readonly store: ModelStore,
  ) {
    this.subscriptions.push(
      this.stepped,
      vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, this),
      vscode.debug.onDidReceiveDebugSessionCustomEvent(({ session, event, body }) => {
        if (session.type === DEBUG_TYPE && event === STEP) {
          const key = keyOf(session);
          if (key !== undefined) {
            this.sessions.set(key, session);
            this.last.set(key, body as StepEvent);
          }
          this.stepped.fire({ session, key, event: body as StepEvent });
        }
      }),
      vscode.debug.onDidTerminateDebugSession((session) => {
        const key = keyOf(session);
        if (key !== undefined && this.sessions.get(key) === session) {
          this.sessions.delete(key);
          this.last.delete(key);
        }
      }),
    );
  }

  /** Lets launch configurations ask for a model; `targets` needs this object to exist first. */
  register(targets: Targets): void {
    const provider: vscode.DebugConfigurationProvider = {
      resolveDebugConfiguration: (folder, configuration) => this.complete(targets, folder, configuration),
    };
    this.subscriptions.push(
      vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, provider),
      vscode.debug.registerDebugConfigurationProvider(
        DEBUG_TYPE,
        { provideDebugConfigurations: () => this.violated() },
        vscode.DebugConfigurationProviderTriggerKind.Dynamic,
      ),
    );
  }

  dispose(): void {
    this.subscriptions.forEach((each) => void each.dispose());
  }

  /** Opens the debugger at the counterexample. Raises an Error if there is none or it cannot be recorded. */
  async start(reference: ModelReference): Promise<void> {
    const trace = await this.trace(reference);
    const uri = vscode.Uri.parse(reference.uri);
    const configuration: ReplayConfiguration = {
      type: DEBUG_TYPE,
      request: "launch",
      name: `Replay ${reference.model}`,
      trace,
      reference,
      internalConsoleOptions: "neverOpen",
    };
    if (await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(uri), configuration)) {
      // Shared state, locks and the schedule are half of the answer, and they are in that view.
      await vscode.commands.executeCommand("workbench.view.debug");
    }
  }

  /** Path of the recorded trace of a counterexample. */
  async trace(reference: ModelReference): Promise<string> {
    const { path: trace } = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `Recording the counterexample of ${reference.model}` },
      () => this.server.request<{ path: string }>(Method.trace, reference),
    );
    return trace;
  }

  /** The step that the debugger is at in this counterexample; undefined if it is not replayed. */
  step(key: string): StepEvent | undefined {
    return this.last.get(key);
  }

  /** Takes the debugger to a step. Returns false if the counterexample is not being replayed. */
  async goTo(key: string, step: number): Promise<boolean> {
    const session = this.sessions.get(key);
    if (session === undefined) {
      return false;
    }
    await session.customRequest(STEP, { step });
    return true;
  }

  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const { command, args, env } = await this.server.debugAdapter();
    const folder = session.workspaceFolder ?? vscode.workspace.workspaceFolders?.[0];
    const environment = Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    return new vscode.DebugAdapterExecutable(command, [...args], {
      env: environment,
      ...(folder === undefined ? {} : { cwd: folder.uri.fsPath }),
    });
  }

  private violated(): vscode.DebugConfiguration[] {
    return this.store
      .all()
      .filter((model) => model.state === "violated")
      .map((model) => ({
        type: DEBUG_TYPE,
        request: "launch",
        name: `Replay ${model.id}`,
        model: `${vscode.Uri.parse(model.uri).fsPath}::${model.name}`,
      }));
  }

  /** Fills in what a configuration leaves open. Returns undefined, which ends the start, if the person picks no model. */
  private async complete(
    targets: Targets,
    folder: vscode.WorkspaceFolder | undefined,
    configuration: ReplayConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (!configuration.trace && !configuration.model) {
      const reference = await targets.model([], true);
      if (reference === undefined) {
        return undefined;
      }
      return {
        ...configuration,
        type: DEBUG_TYPE,
        request: "launch",
        name: configuration.name || `Replay ${reference.model}`,
        trace: await this.trace(reference),
        reference,
        internalConsoleOptions: "neverOpen",
      };
    }
    const reference = configuration.reference ?? referenceOf(configuration, folder);
    return {
      internalConsoleOptions: "neverOpen",
      ...configuration,
      ...(reference === undefined || isOwn(configuration) ? {} : { reference }),
    };
  }
}

/** Whether a configuration asks for another counterexample than the one that the trace view shows of its model. */
function isOwn({ schedule, parameters, options }: ReplayConfiguration): boolean {
  return Boolean(schedule) || [parameters, options].some((values) => Object.keys(values ?? {}).length > 0);
}

/** The model that `"model": "FILE::NAME"` names, as the server names it. */
function referenceOf(
  configuration: ReplayConfiguration,
  folder: vscode.WorkspaceFolder | undefined,
): ModelReference | undefined {
  const [file, name] = configuration.model?.split("::") ?? [];
  if (file === undefined || name === undefined) {
    return undefined;
  }
  const root = folder?.uri.fsPath ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const [cwd, expanded] = [configuration.cwd ?? "", file].map((each) => each.replaceAll("${workspaceFolder}", root));
  return { uri: vscode.Uri.file(path.resolve(root, cwd ?? "", expanded ?? "")).toString(), model: name };
}

function keyOf(session: vscode.DebugSession): string | undefined {
  const { reference } = session.configuration as ReplayConfiguration;
  return reference === undefined ? undefined : referenceKey(reference);
}
