import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test } from "node:test";

import { Bundle, commandLine } from "../src/launch";
import { installLine, missing } from "../src/missing";
import { findOnPath, isInside } from "../src/paths";
import { parse, probe, type Probe } from "../src/probe";

const unix = { skip: process.platform === "win32" };

function folder(): string {
  return mkdtempSync(path.join(tmpdir(), "dpor-unit-"));
}

function script(file: string, text: string): string {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("the server runs as a module, with files of the working directory kept out", () => {
  const line = commandLine("/usr/bin/python3", null, ["--x"], { A: "1" });
  assert.deepEqual(line.args, ["-P", "-m", "dpor_lsp", "--x"]);
  assert.equal(line.env.PYTHONPATH, undefined);
  assert.equal(line.env.A, "1");
});

test("the extension's copy goes before the inherited path of modules", () => {
  const bundle = new Bundle("/ext");
  const line = commandLine("/usr/bin/python3", bundle, [], { PYTHONPATH: "/mine" });
  assert.deepEqual(line.args, ["-P", bundle.entry]);
  assert.equal(line.env.PYTHONPATH, `${bundle.checker}${path.delimiter}/mine`);
});

test("a build without a copy does not claim to have one", () => {
  const bundle = new Bundle(folder());
  assert.equal(bundle.available, false);
  assert.equal(bundle.wheel, null);
});

test("an interpreter answers with versions", () => {
  const answer = (more: object) => parse(`noise\n${JSON.stringify({ python: "3.12.1", version: null, pip: true, why: null, ...more })}\n`);
  assert.deepEqual(answer({ version: "0.1.0" }), { kind: "ready", version: "0.1.0", python: "3.12.1" });
  assert.deepEqual(answer({}), { kind: "missing", python: "3.12.1", pip: true });
  assert.deepEqual(answer({ python: "3.9.2", version: "0.1.0" }), { kind: "old", python: "3.9.2" });
  assert.deepEqual(answer({ why: "ImportError: kernel" }), { kind: "broken", why: "ImportError: kernel" });
});

test("what is no interpreter is told apart", unix, async () => {
  const root = folder();
  const talker = await probe(script(path.join(root, "talker"), "echo hello"), root, process.env);
  assert.equal(talker.kind, "broken");
  const absent = await probe(path.join(root, "absent"), root, process.env);
  assert.deepEqual(absent, { kind: "broken", why: "there is no such file" });
  const failing = await probe(script(path.join(root, "failing"), "echo no luck >&2; exit 3"), root, process.env);
  assert.deepEqual(failing, { kind: "broken", why: "no luck" });
  const hanging = await probe(script(path.join(root, "hanging"), "exec sleep 60"), root, process.env, 0.2);
  assert.deepEqual(hanging, { kind: "broken", why: "it gave no answer in 0.2 s" });
});

test("the search path is searched for each name in turn, and relative entries are not followed", unix, () => {
  const root = folder();
  const first = path.join(root, "one");
  const second = path.join(root, "two");
  script(path.join(first, "python"), "");
  const wanted = script(path.join(second, "python3"), "");
  const searchPath = [".", first, second].join(path.delimiter);
  assert.equal(findOnPath(["python3", "python"], searchPath), wanted);
  assert.equal(findOnPath(["python3"], searchPath, (file) => file !== wanted), undefined);
  assert.equal(findOnPath(["perl"], first), undefined);
});

test("an interpreter in the workspace is known for one, whatever links lead there", unix, () => {
  const root = folder();
  const workspace = path.join(root, "workspace");
  mkdirSync(path.join(workspace, ".venv", "bin"), { recursive: true });
  symlinkSync("/usr/bin/env", path.join(workspace, ".venv", "bin", "python"));
  symlinkSync(path.join(workspace, ".venv"), path.join(root, "elsewhere"));
  assert.equal(isInside(path.join(workspace, ".venv", "bin", "python"), [workspace]), true);
  assert.equal(isInside(path.join(root, "elsewhere", "bin", "python"), [workspace]), true);
  assert.equal(isInside("/usr/bin/python3", [workspace]), false);
  assert.equal(isInside(`${workspace}-other/python`, [workspace]), false);
});

test("what is missing is said with the fixes that help", () => {
  const reason = (probed: Exclude<Probe, { kind: "ready" }>) => ({ kind: "probe", interpreter: "/py", probe: probed }) as const;
  assert.deepEqual(missing({ kind: "none" }).fixes, ["choose", "documentation"]);
  assert.deepEqual(missing(reason({ kind: "missing", python: "3.12.1", pip: true }), true).fixes, ["install", "bundled", "choose", "documentation"]);
  assert.deepEqual(missing(reason({ kind: "missing", python: "3.12.1", pip: false })).fixes, ["choose", "documentation"]);
  assert.match(missing(reason({ kind: "old", python: "3.9.2" })).sentence, /3\.11 or newer.*is 3\.9\.2/u);
  assert.match(missing(reason({ kind: "broken", why: "no luck" })).sentence, /no luck/u);
});

test("the line that installs suits the shell", () => {
  assert.equal(installLine("/usr/bin/python3", "dpor-lsp", "/bin/bash"), "/usr/bin/python3 -m pip install dpor-lsp");
  assert.equal(
    installLine("C:\\Program Files\\python.exe", "dpor-lsp", "C:\\WINDOWS\\powershell.exe"),
    '& "C:\\Program Files\\python.exe" -m pip install dpor-lsp',
  );
});
