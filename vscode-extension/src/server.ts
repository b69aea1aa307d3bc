/** Starts, watches, restarts and stops the language server. */

import * as path from "node:path";

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type Executable,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  TransportKind,
} from "vscode-languageclient/node";

import { Backoff } from "./backoff";
import { findInterpreter, type Interpreter } from "./interpreter";
import { Bundle, commandLine, type CommandLine } from "./launch";
import { missing, type MissingReason } from "./missing";
import { probe } from "./probe";
import { CLIENT_COMMANDS, Method, type ModelState, type OutputParams, type StatusParams } from "./protocol";
import { launchSettings, SECTION, serverSettings } from "./settings";
import type { Phase } from "./statusText";
import type { ModelStore } from "./store";

/** Milliseconds that a server is given to end by itself. */
const STOP_TIMEOUT = 2000;

export class Server implements vscode.Disposable {
  readonly bundle: Bundle;
  private client: LanguageClient | undefined;
  private current: Phase = { kind: "starting" };
  private interpreter: Interpreter | undefined;
  private usesBundle = false;
  private reason: MissingReason | undefined;
  private notified = new Set<string>();
  /** Counts starts and stops, so that what an earlier one still does can be told apart and dropped. */
  private generation = 0;
  private queue: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private readonly backoff = new Backoff();
  private readonly phaseChanged = new vscode.EventEmitter<Phase>();
  private readonly printed = new vscode.EventEmitter<OutputParams>();
  readonly onPhase = this.phaseChanged.event;
  readonly onOutput = this.printed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly store: ModelStore,
    readonly log: vscode.LogOutputChannel,
  ) {
    this.bundle = new Bundle(context.extensionPath);
  }

  get phase(): Phase {
    return this.current;
  }

  /** Why there is no server, while the phase is "missing". */
  get missingReason(): MissingReason | undefined {
    return this.reason;
  }

  /** Starts or restarts, after what is under way. `asked` is true if a person wants it and not a change of settings. */
  restart(asked: boolean): Promise<void> {
    if (asked) {
      this.backoff.reset();
      this.notified = new Set();
    }
    return this.enqueue(() => this.startNow());
  }

  /** Restarts only if another interpreter than the running server's is selected now. */
  interpreterMayHaveChanged(): Promise<void> {
    return this.enqueue(async () => {
      const folder = vscode.workspace.workspaceFolders?.[0];
      const found = await findInterpreter(launchSettings(folder).interpreter, folder, this.log);
      if (found?.path !== this.interpreter?.path || this.current.kind === "missing") {
        await this.startNow();
      }
    });
  }

  /** Sends a request. Raises an Error that says why if there is no server to send it to. */
  async request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    await this.queue;
    if (this.client === undefined || this.current.kind !== "running") {
      throw new Error(this.absence());
    }
    return token === undefined
      ? this.client.sendRequest<R>(method, params)
      : this.client.sendRequest<R>(method, params, token);
  }

  /** Passes changed settings on to the running server. */
  async configure(): Promise<void> {
    await this.queue;
    const folder = vscode.workspace.workspaceFolders?.[0];
    const settings = { [SECTION]: serverSettings(folder, this.interpreter?.path) };
    await this.client?.sendNotification("workspace/didChangeConfiguration", { settings });
  }

  /** Has the server execute one of its commands. */
  execute(command: string, args: readonly unknown[], token?: vscode.CancellationToken): Promise<unknown> {
    return this.request("workspace/executeCommand", { command, arguments: args }, token);
  }

  /** Asks for all models of the workspace. */
  async refresh(): Promise<void> {
    const { models } = await this.request<{ models: ModelState[] }>(Method.models, {});
    this.store.replaceAll(models.map((model) => ({ ...model, uri: normalize(model.uri) })));
  }

  /** Returns how to run the debug adapter: the same interpreter and the same copy of `dpor-lsp`. */
  async debugAdapter(): Promise<CommandLine> {
    await this.queue;
    if (this.interpreter === undefined || this.current.kind !== "running") {
      throw new Error(this.absence());
    }
    return commandLine(this.interpreter.path, this.usesBundle ? this.bundle : null, ["--debug-adapter"]);
  }

  /** Says why there is no server, in a sentence for a message. */
  absence(): string {
    const phase = this.current;
    switch (phase.kind) {
      case "off":
      case "missing":
      case "failed":
        return phase.why;
      case "waiting":
        return `The dpor server stopped and starts again in ${phase.seconds} s.`;
      case "starting":
      case "running":
        return "The dpor server is not ready yet.";
    }
  }

  async stop(): Promise<void> {
    await this.enqueue(() => this.stopNow());
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.phaseChanged.dispose();
    this.printed.dispose();
  }

  private enqueue(action: () => Promise<void>): Promise<void> {
    const run = this.queue.then(action);
    this.queue = run.catch((error: unknown) => this.log.error(String(error)));
    return this.queue;
  }

  private setPhase(phase: Phase): void {
    this.current = phase;
    this.phaseChanged.fire(phase);
  }

  private async stopNow(): Promise<void> {
    this.generation += 1;
    clearTimeout(this.timer);
    const client = this.client;
    this.client = undefined;
    this.store.clear();
    if (client !== undefined) {
      try {
        await client.dispose(STOP_TIMEOUT);
      } catch (error) {
        this.log.warn(`The server did not stop in order: ${String(error)}`);
      }
    }
  }

  private async startNow(): Promise<void> {
    await this.stopNow();
    const generation = this.generation;
    this.reason = undefined;
    this.setPhase({ kind: "starting" });
    const folder = vscode.workspace.workspaceFolders?.[0];
    const settings = launchSettings(folder);
    this.interpreter = await findInterpreter(settings.interpreter, folder, this.log);
    if (this.interpreter === undefined) {
      if (vscode.workspace.isTrusted) {
        this.cannotStart({ kind: "none" });
      } else {
        const why = "Nothing is run in a folder that is not trusted, and there is no Python interpreter outside of it";
        this.setPhase({ kind: "off", why });
      }
      return;
    }
    this.usesBundle = settings.importStrategy === "useBundled" && this.bundle.available;
    const bundle = this.usesBundle ? this.bundle : null;
    if (settings.importStrategy === "useBundled" && bundle === null) {
      this.log.warn("This build of the extension holds no copy of dpor-lsp for this platform; the environment's is used.");
    }
    this.log.info(`Interpreter: ${this.interpreter.path}, from ${this.interpreter.source}`);
    const line = commandLine(this.interpreter.path, bundle, settings.args);
    const answer = await probe(this.interpreter.path, path.join(this.context.extensionPath, "media"), line.env);
    if (answer.kind !== "ready") {
      this.cannotStart({ kind: "probe", interpreter: this.interpreter.path, probe: answer });
      return;
    }
    this.log.info(`dpor-lsp ${answer.version}${this.usesBundle ? ", the copy of the extension" : ""}`);
    await this.connect(line, folder, generation, answer.version);
  }

  private async connect(
    line: CommandLine,
    folder: vscode.WorkspaceFolder | undefined,
    generation: number,
    version: string,
  ): Promise<void> {
    const executable: Executable = {
      command: line.command,
      args: [...line.args],
      transport: TransportKind.stdio,
      options: { env: line.env, ...(folder === undefined ? {} : { cwd: folder.uri.fsPath }) },
    };
    const client = new LanguageClient(SECTION, "dpor", executable, this.clientOptions(folder, generation));
    this.client = client;
    client.onNotification(Method.status, (status: StatusParams) => {
      const uri = normalize(status.uri);
      this.store.update(
        uri,
        status.models.map((model) => ({ ...model, uri })),
      );
    });
    client.onNotification(Method.output, (output: OutputParams) => this.printed.fire(output));
    try {
      await client.start();
    } catch (error) {
      this.log.error(`The server did not start: ${String(error)}`);
      this.lost(generation);
      return;
    }
    if (generation !== this.generation) {
      return;
    }
    this.backoff.started(Date.now() / 1000);
    this.setPhase({
      kind: "running",
      version,
      interpreter: line.command,
      trusted: vscode.workspace.isTrusted,
    });
    // Not awaited: the server is ready, and requests of others need not wait for a search through the workspace.
    void client.sendRequest<{ models: ModelState[] }>(Method.models, {}).then(
      ({ models }) => {
        if (generation === this.generation) {
          this.store.replaceAll(models.map((model) => ({ ...model, uri: normalize(model.uri) })));
        }
      },
      (error: unknown) => this.log.error(`The models of the workspace could not be listed: ${String(error)}`),
    );
  }

  private clientOptions(folder: vscode.WorkspaceFolder | undefined, generation: number): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file", language: "python" }],
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: {
        settings: serverSettings(folder, this.interpreter?.path),
        clientCommands: [...CLIENT_COMMANDS],
        trusted: vscode.workspace.isTrusted,
        interpreter: this.interpreter?.path ?? null,
      },
      markdown: { isTrusted: { enabledCommands: [...CLIENT_COMMANDS, "dpor.checkModel", "dpor.checkFile"] } },
      middleware: {
        workspace: {
          configuration: (params) =>
            params.items.map(({ section }) =>
              section === SECTION ? serverSettings(folder, this.interpreter?.path) : null,
            ),
        },
      },
      initializationFailedHandler: (error) => {
        this.log.error(`The server refused to start: ${String(error)}`);
        return false;
      },
      errorHandler: {
        error: (error) => {
          this.log.error(`Talking to the server failed: ${error.message}`);
          return { action: ErrorAction.Continue, handled: true };
        },
        closed: () => {
          this.lost(generation);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  /** The server has ended and nobody wanted it to. */
  private lost(generation: number): void {
    if (generation !== this.generation) {
      return;
    }
    this.generation += 1;
    this.client = undefined;
    this.store.clear();
    const restart = this.backoff.stopped(Date.now() / 1000);
    if (restart === null) {
      const why = "The dpor server stopped again and again, and is not started any more.";
      this.setPhase({ kind: "failed", why });
      void vscode.window.showErrorMessage(why, "Restart", "Show Output").then((choice) => {
        if (choice === "Restart") {
          void this.restart(true);
        } else if (choice === "Show Output") {
          this.log.show();
        }
      });
      return;
    }
    this.log.warn(`The server stopped; it is started again in ${restart.seconds} s (${restart.attempt}).`);
    this.setPhase({ kind: "waiting", ...restart });
    this.timer = setTimeout(() => void this.restart(false), restart.seconds * 1000);
  }

  private cannotStart(reason: MissingReason): void {
    this.reason = reason;
    const { key, sentence } = missing(reason);
    this.log.error(sentence);
    this.setPhase({ kind: "missing", why: sentence });
    if (!this.notified.has(key)) {
      this.notified.add(key);
      void vscode.commands.executeCommand("dpor.fix");
    }
  }
}

/** URIs are compared as text, so they have to be written as VS Code writes them. */
export function normalize(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}
