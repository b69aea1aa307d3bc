// Bundles the extension into dist/extension.js. With --tests also the tests that plain node runs, into dist/test/, and
// with --host those that run inside VS Code, into dist/host/.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

const production = process.argv.includes("--production");
const host = process.argv.includes("--host");
const tests = process.argv.includes("--tests");

const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  sourcemap: !production,
  minify: production,
  logLevel: "warning",
  // The facades publish CommonJS only, the language client publishes no "module" entry.
  mainFields: ["module", "main"],
};

rmSync("dist", { recursive: true, force: true });
await build({ ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js" });
if (tests) {
  const entryPoints = readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: "dist/test" });
}
if (host) {
  await build({ ...common, entryPoints: ["../tests/editor/vscode/host/index.ts"], outfile: "dist/host/index.js" });
}
