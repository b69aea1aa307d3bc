import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

interface Manifest {
  readonly version: string;
  readonly icon: string;
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly menus: Record<string, readonly { readonly command: string }[]>;
    readonly configuration: { readonly properties: Record<string, { readonly description?: string; readonly markdownDescription?: string }> };
    readonly walkthroughs: readonly { readonly steps: readonly { readonly description: string; readonly media: { readonly markdown: string } }[] }[];
  };
}

// The tests are run in the extension's folder.
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const declared = manifest.contributes.commands.map(({ command }) => command);
const sources = readdirSync("src").map((name) => readFileSync(`src/${name}`, "utf8"));

test("every command that is shown is registered, and every registered one is shown", () => {
  const registered = [...readFileSync("src/commands.ts", "utf8").matchAll(/^ {4}"(dpor\.\w+)":/gmu)].map((match) => match[1]);
  assert.deepEqual([...declared].sort(), [...registered].sort());
});

test("menus and walkthrough name commands that exist", () => {
  const menus = Object.values(manifest.contributes.menus).flat().map(({ command }) => command);
  const steps = manifest.contributes.walkthroughs.flatMap(({ steps: all }) => all);
  const links = steps.flatMap(({ description }) => [...description.matchAll(/command:(dpor\.\w+)/gu)].map((match) => match[1] ?? ""));
  for (const command of [...menus, ...links]) {
    assert.ok(declared.includes(command), command);
  }
  for (const { media } of steps) {
    assert.ok(existsSync(media.markdown), media.markdown);
  }
});

test("every setting is described", () => {
  for (const [name, property] of Object.entries(manifest.contributes.configuration.properties)) {
    assert.ok((property.description ?? property.markdownDescription ?? "").length > 20, name);
  }
});

test("the version is that of the project", () => {
  const project = readFileSync("../pyproject.toml", "utf8");
  assert.equal(/^version = "(.*)"$/mu.exec(project)?.[1], manifest.version);
});

test("nothing is written to the console, which nobody reads", () => {
  assert.ok(sources.every((text) => !text.includes("console.")));
});
