// The debug adapter, driven by the client with which VS Code's own adapters are tested.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync, copyFileSync } from "node:fs";
import { join, dirname } from "node:path";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import support from "@vscode/debugadapter-testsupport";

const { DebugClient } = support;
const here = dirname(fileURLToPath(import.meta.url));
const python = process.env.DPOR_TEST_PYTHON;
const folder = process.env.DPOR_TEST_FOLDER;
const trace = (name) => join(folder, `${name}.json`);
const subject = (name) => join(folder, `${name}.py`);
const lineOf = (name, text) => readFileSync(subject(name), "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;

let client;
let gone;
beforeEach(async () => {
  gone = false;
  client = new DebugClient(python, join(here, "adapter.py"), "dpor", { env: process.env, cwd: folder }, true);
  client.defaultTimeout = 20000;
  await client.start();
});
afterEach(() => (gone ? undefined : client.stop()));

const initialize = { adapterID: "dpor", linesStartAt1: true, columnsStartAt1: true, pathFormat: "path", supportsProgressReporting: true };

/** Launch, configure and wait for the first stop. */
async function begin(launch, configure = async () => {}) {
  await client.initializeRequest(initialize);
  return launching(launch, configure);
}

/** Launch what is to be replayed, and configure it. */
async function launching(launch, configure = async () => {}) {
  const initialized = client.waitForEvent("initialized");
  const launched = client.launchRequest(launch);
  await Promise.all([initialized, launched]);
  await configure();
  return moving(() => client.configurationDoneRequest());
}

/** Send a request that moves; the stop that follows and the step that it is at. */
async function moving(request) {
  const stopped = client.waitForEvent("stopped");
  const stepped = client.waitForEvent("dpor/step");
  await request();
  return { ...(await stopped).body, ...(await stepped).body };
}

const next = () => moving(() => client.nextRequest({ threadId: 1 }));
const stepIn = () => moving(() => client.stepInRequest({ threadId: 1 }));
const stepBack = (more = {}) => moving(() => client.stepBackRequest({ threadId: 1, ...more }));
const goOn = () => moving(() => client.continueRequest({ threadId: 1 }));
const reverse = () => moving(() => client.reverseContinueRequest({ threadId: 1 }));
const jump = (step) => moving(() => client.customRequest("dpor/step", { step }));

async function frames(threadId) {
  return (await client.stackTraceRequest({ threadId })).body.stackFrames;
}

async function scope(name, threadId) {
  const [top] = await frames(threadId);
  const { scopes } = (await client.scopesRequest({ frameId: top.id })).body;
  const found = scopes.find((candidate) => candidate.name === name);
  const { variables } = (await client.variablesRequest({ variablesReference: found.variablesReference })).body;
  return Object.fromEntries(variables.map((variable) => [variable.name, variable.value]));
}

/** Disconnect, and wait for the adapter's process to end. */
async function disconnect() {
  gone = true;
  const ended = new Promise((resolve) => client._adapterProcess.once("exit", resolve));
  await client.disconnectRequest();
  return ended;
}

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error.message;
  }
  throw new Error("the request was not refused");
}

const document = (name) => JSON.parse(readFileSync(trace(name), "utf8"));
const stepsOf = (name, wanted) => document(name).steps.filter(wanted).map((step) => step.index);

describe("starting", () => {
  it("says that it can go back, go to a step and watch variables", async () => {
    const { body } = await client.initializeRequest(initialize);
    for (const capability of ["supportsStepBack", "supportsGotoTargetsRequest", "supportsDataBreakpoints", "supportsExceptionInfoRequest", "supportsConfigurationDoneRequest"]) {
      assert.equal(body[capability], true, capability);
    }
  });

  it("stops at the first step that matters, in the thread that takes it", async () => {
    const stop = await begin({ trace: trace("lost_update") });
    assert.equal(stop.reason, "entry");
    assert.equal(stop.step, stepsOf("lost_update", (step) => step.matters)[0]);
    assert.equal(stop.path, subject("lost_update"));
    assert.equal(stop.line, lineOf("lost_update", "seen = self.value"));
  });

  it("begins at the first step or at the failure if the launch says so", async () => {
    const stop = await begin({ trace: trace("lost_update"), start: "failure" });
    assert.equal(stop.reason, "exception");
    assert.equal(stop.step, document("lost_update").steps.length);
  });

  it("records a model that is named, without its schedule", async () => {
    const stop = await begin({ model: "lost_update.py::model", cwd: folder });
    assert.equal(stop.reason, "entry");
    assert.equal(stop.path, subject("lost_update"));
  });

  it("records a model under the schedule that is given", async () => {
    const { schedule, steps } = document("deadlock");
    await begin({ model: "deadlock.py::model", schedule, cwd: folder });
    assert.equal((await goOn()).step, steps.length);
  });

  for (const [name, launch, message] of [
    ["neither a trace nor a model", {}, /DPOR105: the launch arguments have neither of "trace" and "model"/],
    ["a trace and a model", { trace: "a.json", model: "b.py::c" }, /have both of "trace" and "model"/],
    ["a trace that is not there", { trace: "/nowhere/trace.json" }, /DPOR103: there is no trace file \/nowhere\/trace.json/],
    ["an argument of another type", { trace: 5 }, /"trace" does not accept 5/],
    ["a start that there is not", { model: "b.py::c", start: "mater" }, /"start" does not accept 'mater' \(did you mean 'matters'\?/],
    ["a model that is not there", { model: "lost_update.py::modle" }, /DPOR103: .*modle/],
    ["a file that is not there", { model: "none.py::model" }, /DPOR103/],
    ["a model without a counterexample", { model: "verified.py::model" }, /verified.py::model is verified: there is no counterexample to replay/],
    ["a text that is no schedule", { model: "lost_update.py::model", schedule: "dpor1:??" }, /DPOR401/],
    ["an option that there is not", { model: "lost_update.py::model", options: { algoritm: "source" } }, /no option 'algoritm'.*did you mean 'algorithm'/],
  ]) {
    it(`refuses ${name} in a coded message`, async () => {
      await client.initializeRequest(initialize);
      assert.match(await refusal(client.launchRequest({ cwd: folder, ...launch })), message);
    });
  }

  for (const [name, content, message] of [
    ["cut off", (text) => text.slice(0, text.length / 2), /DPOR404: .* is not valid JSON/],
    ["of a newer version", (text) => text.replace(/"version":1}$/, '"version":2}'), /DPOR404: .* is a trace of version 2, and this dpor-lsp reads version 1/],
    ["something else", () => "{}", /DPOR404: .* is not a recorded trace/],
  ]) {
    it(`refuses a trace file that is ${name}`, async () => {
      const file = join(mkdtempSync(join(tmpdir(), "dpor-")), "trace.json");
      writeFileSync(file, content(readFileSync(trace("lost_update"), "utf8")));
      await client.initializeRequest(initialize);
      assert.match(await refusal(client.launchRequest({ trace: file })), message);
    });
  }

  it("shows the recorded text of a file that has changed since", async () => {
    const place = mkdtempSync(join(tmpdir(), "dpor-"));
    const changed = document("lost_update");
    changed.root = place;
    writeFileSync(join(place, "trace.json"), JSON.stringify(changed));
    copyFileSync(subject("deadlock"), join(place, "lost_update.py"));
    const told = client.waitForEvent("output");
    const stop = await begin({ trace: join(place, "trace.json") });
    assert.match((await told).body.output, /lost_update.py has changed since the trace was recorded/);
    const [top] = await frames(stop.threadId);
    assert.ok(top.source.sourceReference > 0);
    const { body } = await client.sourceRequest({ source: top.source, sourceReference: top.source.sourceReference });
    assert.equal(body.content, changed.sources["lost_update.py"]);
  });
});

describe("moving", () => {
  it("goes forward operation by operation, and each step back undoes one", async () => {
    await begin({ trace: trace("lost_update"), start: "first" });
    const forward = [];
    for (let count = 0; count < 6; count++) forward.push((await stepIn()).step);
    const backward = [];
    for (let count = 0; count < 5; count++) backward.push((await stepBack({ granularity: "instruction" })).step);
    assert.deepEqual(backward, forward.slice(0, -1).reverse());
  });

  it("goes from line to line across threads, and back the same way", async () => {
    await begin({ trace: trace("lost_update"), start: "first" });
    const there = [];
    let stop = await next();
    while (stop.reason !== "exception") {
      there.push([stop.step, stop.threadId]);
      stop = await next();
    }
    assert.ok(new Set(there.map(([, thread]) => thread)).size === 3, "it hops between threads");
    const back = [];
    for (let count = 0; count < there.length; count++) {
      const { step, threadId } = await stepBack();
      back.push([step, threadId]);
    }
    assert.deepEqual(back.reverse(), there);
  });

  it("steps out to where another thread goes on", async () => {
    const first = await begin({ trace: trace("lost_update") });
    const stop = await moving(() => client.stepOutRequest({ threadId: first.threadId }));
    assert.notEqual(stop.threadId, first.threadId);
  });

  it("continues to the failure and tells of it where it shows", async () => {
    await begin({ trace: trace("lost_update") });
    const stop = await goOn();
    assert.equal(stop.reason, "exception");
    assert.equal(stop.text, "assertion failed: counter.value == 2");
    const { body } = await client.exceptionInfoRequest({ threadId: stop.threadId });
    assert.equal(body.exceptionId, "DPOR201 assertion (lost update)");
    const [top] = await frames(stop.threadId);
    assert.equal(top.line, lineOf("lost_update", "assert counter.value == 2"));
    assert.equal(top.column, 12);
  });

  it("stays at the ends, and says so", async () => {
    const start = await begin({ trace: trace("lost_update"), start: "first" });
    const before = await stepBack();
    assert.equal(before.step, start.step);
    assert.equal(before.text, "the beginning of the recording");
    const end = await goOn();
    assert.equal((await next()).step, end.step);
    assert.equal((await reverse()).step, 1);
  });

  it("jumps to any step, and refuses those that there are not", async () => {
    await begin({ trace: trace("lost_update") });
    assert.equal((await jump(3)).step, 3);
    assert.match(await refusal(client.customRequest("dpor/step", { step: 400 })), /there is no step 400: the recording has steps 1 to/);
  });

  it("lists the steps of a line as targets and goes to one", async () => {
    await begin({ trace: trace("lost_update") });
    const line = lineOf("lost_update", "self.value = seen + 1");
    const { targets } = (await client.gotoTargetsRequest({ source: { path: subject("lost_update") }, line })).body;
    assert.deepEqual(targets.map((target) => target.label.replace(/^step \d+: /, "")), ["main.1 writes Counter#1.value ← 1", "main.0 writes Counter#1.value ← 1"]);
    const stop = await moving(() => client.gotoRequest({ threadId: 1, targetId: targets[1].id }));
    assert.equal(stop.reason, "goto");
    assert.equal(stop.step, targets[1].id);
  });

  it("leaves out what does not matter if the launch says so", async () => {
    await begin({ trace: trace("lost_update"), steps: "matters" });
    const seen = [];
    let stop = await stepIn();
    while (stop.reason !== "exception") {
      seen.push(stop.step);
      stop = await stepIn();
    }
    assert.deepEqual(seen, stepsOf("lost_update", (step) => step.matters && step.operation !== "failure").slice(1));
  });
});

describe("breakpoints", () => {
  it("stops at a line each time that a thread comes to it, in both directions", async () => {
    const line = lineOf("lost_update", "self.value = seen + 1");
    const set = async () => {
      const { body } = await client.setBreakpointsRequest({ source: { path: subject("lost_update") }, breakpoints: [{ line }] });
      assert.equal(body.breakpoints[0].verified, true);
    };
    await begin({ trace: trace("lost_update"), start: "first" }, set);
    const one = await goOn();
    const two = await goOn();
    assert.deepEqual([one.reason, one.line, two.line], ["breakpoint", line, line]);
    assert.notEqual(one.threadId, two.threadId);
    assert.equal((await goOn()).reason, "exception");
    assert.equal((await reverse()).step, two.step);
    assert.equal((await reverse()).step, one.step);
  });

  it("says why a line cannot be stopped at", async () => {
    await begin({ trace: trace("lost_update") }, async () => {
      const { body } = await client.setBreakpointsRequest({ source: { path: subject("lost_update") }, breakpoints: [{ line: 1 }] });
      assert.equal(body.breakpoints[0].verified, false);
      assert.match(body.breakpoints[0].message, /no recorded step stands on this line/);
    });
  });

  it("answers who wrote a variable last", async () => {
    const stop = await begin({ trace: trace("lost_update"), start: "failure" });
    const [top] = await frames(stop.threadId);
    const { scopes } = (await client.scopesRequest({ frameId: top.id })).body;
    const shared = scopes.find((candidate) => candidate.name === "Shared state");
    const info = (await client.dataBreakpointInfoRequest({ variablesReference: shared.variablesReference, name: "Counter#1.value" })).body;
    assert.equal(info.dataId, "variable:Counter#1.value");
    const set = (await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: info.dataId, accessType: "write" }] })).body;
    assert.equal(set.breakpoints[0].verified, true);
    const last = await reverse();
    assert.equal(last.reason, "data breakpoint");
    assert.equal(last.text, "main.0 changes Counter#1.value from 1 to 1");
    assert.deepEqual(last.hitBreakpointIds, [set.breakpoints[0].id]);
    assert.equal((await reverse()).text, "main.1 changes Counter#1.value from 0 to 1");
    assert.equal((await reverse()).text, "main changes Counter#1.value from nothing to 0");
    assert.equal((await reverse()).step, 1);
  });

  it("watches what an expression of the code means", async () => {
    const stop = await begin({ trace: trace("lost_update") });
    const [top] = await frames(stop.threadId);
    const info = (await client.dataBreakpointInfoRequest({ name: "self.value", frameId: top.id })).body;
    assert.equal(info.dataId, "variable:Counter#1.value");
    const none = (await client.dataBreakpointInfoRequest({ name: "seen", frameId: top.id })).body;
    assert.equal(none.dataId, null);
  });

  it("stops where threads switch or begin to wait, if asked", async () => {
    await begin({ trace: trace("deadlock"), start: "first" }, async () => {
      await client.setExceptionBreakpointsRequest({ filters: ["waits"] });
    });
    const stop = await goOn();
    assert.match(stop.text, /main waits for the end of main.0/);
  });
});

describe("looking", () => {
  it("has a stack for every thread that is alive, with the line it stands on", async () => {
    const stop = await begin({ trace: trace("deadlock"), start: "failure" });
    const { threads } = (await client.threadsRequest()).body;
    assert.deepEqual(threads.map((thread) => thread.name), [
      "main: waits for the end of main.0",
      "main.0: waits for right, held by main.1",
      "main.1: waits for left, held by main.0",
    ]);
    const lines = [];
    for (const { id } of threads) lines.push((await frames(id))[0].line);
    assert.deepEqual(lines, [lineOf("deadlock", "dpor.join_all()"), lineOf("deadlock", "with second"), lineOf("deadlock", "with second")]);
    const { body } = await client.exceptionInfoRequest({ threadId: stop.threadId });
    assert.match(body.description, /main.1 waits for left, held by main.0/);
    assert.equal(body.exceptionId, "DPOR203 deadlock (lock-order inversion)");
  });

  it("lists only threads that have been started and have not ended", async () => {
    await begin({ trace: trace("lost_update"), start: "first" });
    assert.deepEqual((await client.threadsRequest()).body.threads.map((thread) => thread.name), ["main"]);
  });

  it("shows shared state with what it was before, locals, locks and the schedule", async () => {
    await begin({ trace: trace("lost_update") });
    const write = stepsOf("lost_update", (step) => step.operation === "store" && step.thread === "main.1")[0];
    const stop = await jump(write);
    assert.deepEqual(await scope("Shared state", stop.threadId), { "Counter#1.value": "1  (was 0)" });
    assert.deepEqual(await scope("Locals", stop.threadId), { self: "Counter#1", seen: "0" });
    assert.deepEqual(await scope("Locks", stop.threadId), { "main.0": "still runs; main waits for it" });
    const schedule = await scope("Schedule", stop.threadId);
    assert.equal(schedule.now, "main.1 writes Counter#1.value ← 1");
    assert.equal(schedule.failure, `step ${document("lost_update").steps.length}: assertion failed: counter.value == 2`);
  });

  it("says who holds and who waits for a lock", async () => {
    const stop = await begin({ trace: trace("deadlock"), start: "failure" });
    const locks = await scope("Locks", stop.threadId);
    assert.equal(locks.left, "held by main.0; main.1 waits for it");
    assert.equal(locks.right, "held by main.1; main.0 waits for it");
  });

  it("gives values for hovers from the recording, and runs nothing", async () => {
    const stop = await begin({ trace: trace("lost_update"), start: "failure" });
    const [top] = await frames(stop.threadId);
    const value = async (expression) => (await client.evaluateRequest({ expression, frameId: top.id, context: "hover" })).body.result;
    assert.equal(await value("counter"), "Counter#1");
    assert.equal(await value("counter.value"), "1");
    assert.equal(await value("Counter#1.value"), "1");
    assert.match(await refusal(value("print(1)")), /'print\(1\)' was not recorded/);
  });

  it("gives the tasks of an event loop a thread each", async () => {
    await begin({ trace: trace("tasks"), start: "failure" });
    const names = (await client.threadsRequest()).body.threads.map((thread) => thread.name);
    assert.deepEqual(names, ["main", "take (main:1)", "take (main:2)"]);
  });
});

describe("manners", () => {
  it("refuses what comes before a launch, and goes on", async () => {
    await client.initializeRequest(initialize);
    assert.match(await refusal(client.threadsRequest()), /no trace is loaded: send a launch request first/);
    assert.match(await refusal(client.nextRequest({ threadId: 1 })), /no trace is loaded/);
    assert.match(await refusal(client.customRequest("nonsense")), /does not know the request 'nonsense'/);
    assert.match(await refusal(client.initializeRequest(initialize)), /initialize was sent before/);
    await launching({ trace: trace("lost_update") });
  });

  it("answers many requests at once, each with its own", async () => {
    await begin({ trace: trace("deadlock"), start: "failure" });
    const answers = await Promise.all([3, 1, 2, 3, 2, 1].map((threadId) => frames(threadId)));
    assert.deepEqual(answers.map(([top]) => top.id), [48, 16, 32, 48, 32, 16]);
  });

  it("keeps breakpoints that are set before the trace is loaded", async () => {
    await client.initializeRequest(initialize);
    const line = lineOf("lost_update", "self.value = seen + 1");
    const { body } = await client.setBreakpointsRequest({ source: { path: subject("lost_update") }, breakpoints: [{ line }] });
    assert.equal(body.breakpoints[0].message, "the trace is not loaded yet");
    const entered = client.waitForEvent("stopped");
    await client.configurationDoneRequest();
    await client.launchRequest({ trace: trace("lost_update"), start: "first" });
    await entered;
    assert.equal((await goOn()).reason, "breakpoint");
  });

  it("refuses threads, frames and variables that there are not", async () => {
    await begin({ trace: trace("lost_update") });
    assert.match(await refusal(client.stackTraceRequest({ threadId: 77 })), /there is no thread 77/);
    assert.match(await refusal(client.scopesRequest({ frameId: 9999 })), /there is no frame 9999/);
    assert.match(await refusal(client.variablesRequest({ variablesReference: 7 })), /there are no variables 7/);
    assert.match(await refusal(client.exceptionInfoRequest({ threadId: 1 })), /nothing breaks at this step/);
    assert.match(await refusal(client.stackTraceRequest({})), /the argument 'threadId' must be a number/);
  });

  it("stands where it stands when it is paused", async () => {
    const start = await begin({ trace: trace("lost_update") });
    const stop = await moving(() => client.pauseRequest({ threadId: 1 }));
    assert.deepEqual([stop.reason, stop.step], ["pause", start.step]);
  });

  it("restarts from the beginning with the file as it is now", async () => {
    const start = await begin({ trace: trace("lost_update") });
    await goOn();
    const stop = await moving(() => client.customRequest("restart", {}));
    assert.deepEqual([stop.reason, stop.step], ["entry", start.step]);
  });

  it("terminates, and ends when the client disconnects", async () => {
    await begin({ trace: trace("lost_update") });
    await Promise.all([client.waitForEvent("terminated"), client.customRequest("terminate")]);
    assert.equal(await disconnect(), 0);
  });

  it("ends at once while a model is being checked", async () => {
    await client.initializeRequest(initialize);
    const checking = client.waitForEvent("progressUpdate");
    client.launchRequest({ model: "endless.py::model", cwd: folder }).catch(() => {});
    await checking;
    const begun = Date.now();
    assert.equal(await disconnect(), 0);
    assert.ok(Date.now() - begun < 2000);
  });

  it("counts lines from 0 for a client that does", async () => {
    await client.initializeRequest({ ...initialize, linesStartAt1: false, columnsStartAt1: false });
    const initialized = client.waitForEvent("initialized");
    await client.launchRequest({ trace: trace("lost_update"), start: "failure" });
    await initialized;
    const stop = await moving(() => client.configurationDoneRequest());
    const [top] = await frames(stop.threadId);
    assert.equal(top.line, lineOf("lost_update", "assert counter.value == 2") - 1);
    assert.equal(top.column, 11);
  });
});
