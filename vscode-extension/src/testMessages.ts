/** Turns a model's verdict into what the Test Explorer shows for it. */

import * as vscode from "vscode";

import { toPosition, toRange } from "./convert";
import type { ModelState, Violation } from "./protocol";
import { describe } from "./wording";

/** Menu entries of `testing/message/content` are tied to this. */
export const VIOLATION_CONTEXT = "dpor.violation";

/** The code of a check that somebody stopped, which is nothing to fix. */
const CANCELLED = "DPOR305";

/** Writes the verdict of `model` into `run`. The model must not be pending. */
export function report(run: vscode.TestRun, item: vscode.TestItem, model: ModelState): void {
  const milliseconds = typeof model.seconds === "number" ? model.seconds * 1000 : undefined;
  run.appendOutput(`${model.id}: ${describe(model)}\r\n`, undefined, item);
  switch (model.state) {
    case "violated":
      if (model.expected) {
        run.passed(item, milliseconds);
      } else {
        run.failed(item, failures(model), milliseconds);
      }
      return;
    case "verified":
      if (model.expected) {
        run.passed(item, milliseconds);
      } else {
        run.failed(item, plain(model, `${model.name} is verified, but it says expect="violated".`), milliseconds);
      }
      return;
    case "incomplete":
      if (model.reason?.code === CANCELLED) {
        run.skipped(item);
        return;
      }
      run.errored(item, plain(model, why(model, "Incomplete")), milliseconds);
      return;
    case "error":
      run.errored(item, plain(model, why(model, "Cannot be checked")), milliseconds);
      return;
    case "ignored":
    case "stale":
    case "unchecked":
    case "queued":
    case "checking":
      run.skipped(item);
  }
}

function failures(model: ModelState): vscode.TestMessage[] {
  const violations = model.violations ?? [];
  return violations.length > 0
    ? violations.map((violation) => failure(model, violation))
    : [plain(model, model.message ?? "A schedule violates the model.")];
}

function failure(model: ModelState, violation: Violation): vscode.TestMessage {
  const message = new vscode.TestMessage(`${violation.code} ${violation.message}`);
  message.location = new vscode.Location(vscode.Uri.parse(violation.uri ?? model.uri), toRange(violation.range));
  message.contextValue = VIOLATION_CONTEXT;
  // A stack is shown with its newest frame first; a schedule reads better from its beginning. Its steps are numbered.
  message.stackTrace = violation.steps.map(
    (step) => new vscode.TestMessageStackFrame(step.text, vscode.Uri.parse(step.uri), toPosition(step.range.start)),
  );
  return message;
}

function why(model: ModelState, verdict: string): string {
  const { reason } = model;
  return reason ? `${verdict}: ${reason.code} ${reason.message}${reason.fix ? `\n${reason.fix}` : ""}` : `${verdict}: ${model.message ?? ""}`;
}

function plain(model: ModelState, text: string): vscode.TestMessage {
  const message = new vscode.TestMessage(text);
  message.location = new vscode.Location(vscode.Uri.parse(model.uri), toRange(model.range));
  return message;
}
