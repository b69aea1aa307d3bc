/** Lists the models in the Test Explorer, runs and cancels them, and shows there also what the server checks by itself. */

import * as vscode from "vscode";

import { toRange } from "./convert";
import { type ModelReference, type ModelState, ServerCommand } from "./protocol";
import type { Server } from "./server";
import type { ModelStore } from "./store";
import { report } from "./testMessages";
import { describe, isPending, isVerdict } from "./wording";

/** Milliseconds in which a check that was asked for begins, if there is anything to check. */
const BEGINNING = 2000;

interface Target {
  readonly uri: string;
  readonly name: string;
  readonly item: vscode.TestItem;
}

export class TestExplorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("dpor", "dpor models");
  private readonly shown = new Map<string, ModelState>();
  private readonly targets = new WeakMap<vscode.TestItem, ModelReference>();
  /** Models that a run started by a person reports by itself. */
  private readonly claimed = new Set<string>();
  private readonly forget: () => void;
  /** The run that shows what the server checks without being asked here, while it has anything under way. */
  private background: { readonly run: vscode.TestRun; readonly pending: Set<string> } | undefined;

  constructor(
    private readonly server: Server,
    private readonly store: ModelStore,
    replay: (reference: ModelReference) => Promise<void>,
  ) {
    this.controller.createRunProfile("Check", vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token), true);
    this.controller.createRunProfile(
      "Replay counterexample",
      vscode.TestRunProfileKind.Debug,
      (request, token) => this.replay(request, token, replay),
      true,
    );
    this.controller.refreshHandler = () => server.refresh();
    this.forget = store.onChange((uri, models) => this.update(uri, models));
  }

  /** The model that a test item stands for, or undefined for a file. */
  reference(item: vscode.TestItem): ModelReference | undefined {
    return this.targets.get(item);
  }

  dispose(): void {
    this.forget();
    this.background?.run.end();
    this.controller.dispose();
  }

  private update(uri: string, models: readonly ModelState[]): void {
    const file = this.controller.items.get(uri);
    for (const [key, old] of this.shown) {
      if (old.uri === uri && !models.some((model) => model.name === old.name)) {
        this.shown.delete(key);
        this.leaveBackground(key);
      }
    }
    if (models.length === 0) {
      this.controller.items.delete(uri);
      return;
    }
    const parent = file ?? this.addFile(uri);
    parent.children.replace(models.map((model) => this.item(parent, model)));
    for (const model of models) {
      const item = parent.children.get(keyOf(model.uri, model.name));
      if (item !== undefined) {
        this.show(item, model);
      }
    }
  }

  private addFile(uri: string): vscode.TestItem {
    const parsed = vscode.Uri.parse(uri);
    const item = this.controller.createTestItem(uri, vscode.workspace.asRelativePath(parsed), parsed);
    this.controller.items.add(item);
    return item;
  }

  private item(parent: vscode.TestItem, model: ModelState): vscode.TestItem {
    const key = keyOf(model.uri, model.name);
    const item = parent.children.get(key) ?? this.controller.createTestItem(key, model.name, vscode.Uri.parse(model.uri));
    item.range = toRange(model.range);
    item.description = describe(model);
    item.sortText = String(model.range.start.line).padStart(8, "0");
    this.targets.set(item, { uri: model.uri, model: model.name });
    return item;
  }

  /** Brings what the explorer shows of a model's result up to date. */
  private show(item: vscode.TestItem, model: ModelState): void {
    const key = keyOf(model.uri, model.name);
    const before = this.shown.get(key);
    this.shown.set(key, model);
    if (this.claimed.has(key)) {
      return;
    }
    if (isPending(model.state)) {
      const { run, pending } = this.ensureBackground();
      if (!pending.has(key)) {
        pending.add(key);
        run.enqueued(item);
      }
      if (model.state === "checking" && before?.state !== "checking") {
        run.started(item);
      }
      return;
    }
    if (isVerdict(model.state)) {
      if (before === undefined || !sameResult(before, model) || this.background?.pending.has(key) === true) {
        report(this.ensureBackground().run, item, model);
      }
    } else if (model.state === "ignored") {
      if (before?.state !== "ignored") {
        this.ensureBackground().run.skipped(item);
      }
    } else if (before !== undefined && before.state !== model.state) {
      this.controller.invalidateTestResults(item);
    }
    this.leaveBackground(key);
  }

  private ensureBackground(): { readonly run: vscode.TestRun; readonly pending: Set<string> } {
    this.background ??= {
      run: this.controller.createTestRun(new vscode.TestRunRequest(undefined, undefined, undefined, false, true), "dpor", false),
      pending: new Set(),
    };
    return this.background;
  }

  private leaveBackground(key: string): void {
    this.background?.pending.delete(key);
    if (this.background?.pending.size === 0) {
      this.background.run.end();
      this.background = undefined;
    }
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request);
    const targets = this.collect(request);
    try {
      await Promise.all(targets.map((target) => this.check(run, target, [token, run.token])));
    } finally {
      run.end();
    }
  }

  private async check(
    run: vscode.TestRun,
    target: Target,
    tokens: readonly vscode.CancellationToken[],
  ): Promise<void> {
    const { uri, name, item } = target;
    const key = keyOf(uri, name);
    this.claimed.add(key);
    this.leaveBackground(key);
    run.enqueued(item);
    const cancellation = new vscode.CancellationTokenSource();
    const subscriptions = tokens.map((token) => token.onCancellationRequested(() => cancellation.cancel()));
    let begun = false;
    const stopFollowing = this.store.onChange((changed) => {
      const state = changed === uri ? this.store.find(uri, name)?.state : undefined;
      begun ||= state !== undefined && isPending(state);
      if (state === "checking") {
        run.started(item);
      }
    });
    try {
      await this.server.execute(ServerCommand.checkModel, [uri, name], cancellation.token);
      const model = await this.settled(uri, name, () => begun, cancellation.token);
      if (cancellation.token.isCancellationRequested) {
        await this.server.execute(ServerCommand.cancel, [uri, name]);
        run.skipped(item);
      } else if (model === undefined) {
        run.skipped(item);
      } else {
        report(run, item, model);
      }
    } catch (error) {
      if (cancellation.token.isCancellationRequested) {
        run.skipped(item);
      } else {
        run.errored(item, new vscode.TestMessage(error instanceof Error ? error.message : String(error)));
      }
    } finally {
      stopFollowing();
      subscriptions.forEach((subscription) => void subscription.dispose());
      cancellation.dispose();
      this.claimed.delete(key);
    }
  }

  /**
   * Waits until a check has begun and ended; undefined if the model is gone or the wait is cancelled. The server
   * answers that it will check before it has read the file; what is known until it begins is of the last check. If
   * it does not begin, as with a model that has an error, what it last said holds.
   */
  private settled(
    uri: string,
    name: string,
    hasBegun: () => boolean,
    token: vscode.CancellationToken,
  ): Promise<ModelState | undefined> {
    return new Promise((resolve) => {
      let late = false;
      const look = (): void => {
        const model = this.store.find(uri, name);
        const over = model === undefined || (!isPending(model.state) && (hasBegun() || late));
        if (over || token.isCancellationRequested) {
          forget();
          cancelled.dispose();
          clearTimeout(timer);
          resolve(model);
        }
      };
      const forget = this.store.onChange(look);
      const cancelled = token.onCancellationRequested(look);
      const timer = setTimeout(() => {
        late = true;
        look();
      }, BEGINNING);
      look();
    });
  }

  /** Replays the first counterexample among the chosen models; checks them first if none of them has one. */
  private async replay(
    request: vscode.TestRunRequest,
    token: vscode.CancellationToken,
    replay: (reference: ModelReference) => Promise<void>,
  ): Promise<void> {
    const targets = this.collect(request);
    const violated = (): Target | undefined =>
      targets.find(({ uri, name }) => this.store.find(uri, name)?.state === "violated");
    if (violated() === undefined) {
      await this.run(request, token);
    }
    const target = violated();
    if (target !== undefined) {
      await replay({ uri: target.uri, model: target.name });
    } else if (!token.isCancellationRequested) {
      void vscode.window.showInformationMessage("There is no counterexample to replay: no schedule violates what was checked.");
    }
  }

  private collect(request: vscode.TestRunRequest): Target[] {
    const targets = new Map<string, Target>();
    const excluded = new Set(request.exclude ?? []);
    const visit = (item: vscode.TestItem): void => {
      if (excluded.has(item)) {
        return;
      }
      const reference = this.targets.get(item);
      if (reference !== undefined) {
        targets.set(item.id, { uri: reference.uri, name: reference.model, item });
      }
      item.children.forEach(visit);
    };
    if (request.include === undefined) {
      this.controller.items.forEach(visit);
    } else {
      request.include.forEach(visit);
    }
    return [...targets.values()];
  }
}

function keyOf(uri: string, name: string): string {
  return `${uri}::${name}`;
}

function sameResult(a: ModelState, b: ModelState): boolean {
  return JSON.stringify({ ...a, range: null }) === JSON.stringify({ ...b, range: null });
}
