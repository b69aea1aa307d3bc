/** Decides which model a command is meant for. */

import * as vscode from "vscode";

import { definitionBlock } from "./blocks";
import type { ModelReference, ModelState } from "./protocol";
import { parseReference } from "./references";
import type { Server } from "./server";
import type { ModelStore } from "./store";
import type { TestExplorer } from "./testExplorer";
import { describe, firstLine } from "./wording";

export class Targets {
  constructor(
    private readonly server: Server,
    private readonly store: ModelStore,
    private readonly tests: TestExplorer,
  ) {}

  /**
   * Takes the model from the command's arguments (those of a lens, a code action, a test item or a test's failure),
   * else the one at the cursor, else asks. With `violated`, only models with a counterexample count. Returns
   * undefined if the person picks none or there is none; the latter has been said then.
   */
  async model(args: readonly unknown[], violated: boolean): Promise<ModelReference | undefined> {
    const given = parseReference(args) ?? this.fromTest(args[0]);
    if (given !== undefined) {
      return given;
    }
    const editor = vscode.window.activeTextEditor;
    if (editor !== undefined) {
      const here = this.at(editor.document, editor.selection.active.line);
      if (here !== undefined && (!violated || here.state === "violated")) {
        return this.violation({ uri: here.uri, model: here.name }, violated);
      }
    }
    return this.pick(violated);
  }

  /** The model whose definition the line is in. */
  private at(document: vscode.TextDocument, line: number): ModelState | undefined {
    const lines = document.getText().split(/\r?\n/u);
    return (this.store.of(document.uri.toString()) ?? []).find(({ range }) => {
      const { first, last } = definitionBlock(lines, range.start.line);
      return first <= line && line <= last;
    });
  }

  private fromTest(argument: unknown): ModelReference | undefined {
    if (typeof argument !== "object" || argument === null) {
      return undefined;
    }
    // A menu on a failure gives {test, message}, a menu on a test the test itself.
    const context = argument as { readonly test?: vscode.TestItem; readonly message?: vscode.TestMessage };
    const reference = this.tests.reference(context.test ?? (argument as vscode.TestItem));
    const location = context.message?.location;
    if (reference === undefined || location === undefined) {
      return reference;
    }
    const violations = this.store.find(reference.uri, reference.model)?.violations ?? [];
    const index = violations.findIndex(({ range }) => range.start.line === location.range.start.line);
    return index > 0 ? { ...reference, violation: index } : reference;
  }

  private async pick(violated: boolean): Promise<ModelReference | undefined> {
    if (this.server.phase.kind !== "running") {
      throw new Error(this.server.absence());
    }
    const models = this.store.all().filter((model) => !violated || model.state === "violated");
    if (models.length === 0) {
      void vscode.window.showInformationMessage(
        violated
          ? "There is no counterexample: no model that was checked in this workspace is violated."
          : "There are no models in this workspace. A model is a function marked @dpor.model.",
      );
      return undefined;
    }
    const items = models.map((model) => ({
      label: model.name,
      description: describe(model),
      detail: vscode.workspace.asRelativePath(vscode.Uri.parse(model.uri)),
      model,
    }));
    const placeHolder = violated ? "A model with a counterexample" : "A model";
    const picked = await vscode.window.showQuickPick(items, { placeHolder, matchOnDetail: true });
    return picked && this.violation({ uri: picked.model.uri, model: picked.model.name }, violated);
  }

  /** Asks which counterexample is meant if the model has several. */
  private async violation(reference: ModelReference, violated: boolean): Promise<ModelReference | undefined> {
    const model: ModelState | undefined = this.store.find(reference.uri, reference.model);
    const violations = model?.violations ?? [];
    if (!violated || violations.length < 2) {
      return reference;
    }
    const items = violations.map((each, index) => ({
      label: `${each.code} ${firstLine(each.message)}`,
      description: `line ${each.range.start.line + 1}`,
      index,
    }));
    const picked = await vscode.window.showQuickPick(items, { placeHolder: `A counterexample of ${reference.model}` });
    return picked && { ...reference, violation: picked.index };
  }
}
