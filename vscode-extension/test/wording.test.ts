import assert from "node:assert/strict";
import { test } from "node:test";

import type { ModelState } from "../src/protocol";
import { statusText, summary, type Phase } from "../src/statusText";
import { describe, duration, isBad, plural } from "../src/wording";

const range = { start: { line: 3, character: 0 }, end: { line: 9, character: 0 } };

function model(state: ModelState["state"], more: Partial<ModelState> = {}): ModelState {
  return { id: "bank.py::m", uri: "file:///bank.py", name: "m", range, state, expected: true, ...more };
}

const running: Phase = { kind: "running", version: "0.1.0", interpreter: "/usr/bin/python3", trusted: true };

test("a verdict is described with its counts and its time", () => {
  const verified = model("verified", { executions: 1200, blocked: 3, seconds: 1.25 });
  assert.equal(describe(verified), "verified · 1,200 executions, 3 blocked · 1.3 s");
});

test("an answer from the cache says so in the place of a time", () => {
  assert.equal(describe(model("verified", { executions: 1, seconds: 0.2, cached: true })), "verified · 1 execution · from the cache");
});

test("a running check shows its progress, never 100 per cent", () => {
  assert.equal(describe(model("checking", { executions: 50, fraction: 0.999 })), "checking · 50 executions · about 99 %");
});

test("what is out of date or ignored shows no counts", () => {
  assert.equal(describe(model("stale", { executions: 9 })), "changed since the last check");
  assert.equal(describe(model("ignored", { executions: 9 })), "ignored");
});

test("what cannot be checked has neither counts nor time", () => {
  assert.equal(describe(model("error", { executions: 0, seconds: 0 })), "cannot be checked");
});

test("an incomplete check names what ended it", () => {
  assert.equal(describe(model("incomplete", { reason: { code: "DPOR301", message: "timeout after 60 s" } })), "incomplete · timeout after 60 s");
});

test("expectations turn a verdict round", () => {
  assert.equal(describe(model("violated")), "violated, as expected");
  assert.equal(describe(model("verified", { expected: false })), "verified, but a violation was expected");
  assert.equal(isBad(model("violated")), false);
  assert.equal(isBad(model("verified", { expected: false })), true);
});

test("durations and numbers are readable", () => {
  assert.deepEqual([duration(0.0001), duration(0.25), duration(12.34), duration(125)], ["1 ms", "250 ms", "12.3 s", "2 min 5 s"]);
  assert.deepEqual([plural(1, "step"), plural(0, "step")], ["1 step", "0 steps"]);
});

test("the summary puts what needs attention first", () => {
  const models = [model("verified"), model("verified"), model("violated", { expected: false }), model("stale")];
  assert.equal(summary(models), "1 violated, 1 changed, 2 verified");
});

test("the status of a file follows its models", () => {
  assert.equal(statusText(running, [model("violated", { expected: false })]).severity, "error");
  assert.equal(statusText(running, [model("incomplete")]).severity, "warning");
  assert.equal(statusText(running, [model("violated")]).severity, "information");
  assert.equal(statusText(running, [model("queued")]).busy, true);
  assert.equal(statusText(running, []).text, "dpor: no models in this file");
});

test("without a running server no verdict is shown", () => {
  const models = [model("verified")];
  const phases: Phase[] = [
    { kind: "off", why: "w" },
    { kind: "starting" },
    { kind: "missing", why: "w" },
    { kind: "waiting", attempt: 1, seconds: 1 },
    { kind: "failed", why: "w" },
    { ...running, trusted: false },
  ];
  for (const phase of phases) {
    assert.doesNotMatch(statusText(phase, models).text, /verified/u);
  }
});
