import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff } from "../src/backoff";
import type { ModelState } from "../src/protocol";
import { parseReference, referenceKey } from "../src/references";
import { ModelStore } from "../src/store";

function model(uri: string, name: string, first: number, last: number): ModelState {
  const range = { start: { line: first, character: 0 }, end: { line: last, character: 0 } };
  return { id: `${uri}::${name}`, uri, name, range, state: "unchecked", expected: true };
}

test("a new list of all models empties the files that are not in it", () => {
  const store = new ModelStore();
  store.update("a", [model("a", "one", 0, 3)]);
  const told: string[] = [];
  store.onChange((uri, models) => told.push(`${uri} ${models.length}`));
  store.replaceAll([model("b", "two", 0, 3)]);
  assert.deepEqual(told, ["a 0", "b 1"]);
});

test("when the server is gone nothing is known any more", () => {
  const store = new ModelStore();
  store.update("a", [model("a", "one", 0, 3)]);
  let models = -1;
  store.onChange((_, list) => (models = list.length));
  store.clear();
  assert.equal(models, 0);
  assert.equal(store.of("a"), null);
});

test("a listener that has been taken away is not called", () => {
  const store = new ModelStore();
  const forget = store.onChange(() => assert.fail());
  forget();
  store.update("a", []);
});

test("commands take their model as arguments or as one object", () => {
  assert.deepEqual(parseReference(["file:///a.py", "m"]), { uri: "file:///a.py", model: "m" });
  assert.deepEqual(parseReference(["file:///a.py", "m", 2]), { uri: "file:///a.py", model: "m", violation: 2 });
  assert.deepEqual(parseReference([{ uri: "u", model: "m", violation: 1 }]), { uri: "u", model: "m", violation: 1 });
  assert.equal(parseReference([]), undefined);
  assert.equal(parseReference([{ scheme: "file" }]), undefined);
});

test("the first counterexample has one key, whether or not its number is given", () => {
  assert.equal(referenceKey({ uri: "u", model: "m" }), referenceKey({ uri: "u", model: "m", violation: 0 }));
});

test("a server that stops at once is started five times, with growing pauses", () => {
  const backoff = new Backoff();
  const pauses: (number | undefined)[] = [];
  for (let now = 1000; now < 1006; now += 1) {
    backoff.started(now);
    pauses.push(backoff.stopped(now)?.seconds);
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, undefined]);
});

test("after a long quiet time a stop counts as the first", () => {
  const backoff = new Backoff();
  backoff.started(0.5);
  backoff.stopped(1);
  backoff.started(10);
  assert.equal(backoff.stopped(500)?.attempt, 1);
});

test("a start that someone asked for forgets earlier stops", () => {
  const backoff = new Backoff(1);
  backoff.stopped(1);
  assert.equal(backoff.stopped(2), null);
  backoff.reset();
  assert.equal(backoff.stopped(3)?.attempt, 1);
});
