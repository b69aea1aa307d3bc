// Runs the tests of host/ inside VS Code's extension host, and exits with 0 if they pass.
//
// VS Code is told what to run as it is told by its own test runner: by `extensionDevelopmentPath` and
// `extensionTestsPath`, which code-server takes from the address if it was started with enable-smoke-test-driver.

import { EXTENSION, openWorkbench, startVSCode } from "./vscode.mjs";
import { BANK, OTHER } from "./models.mjs";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { format } from "node:util";

const TIMEOUT = 240;

const vscode = await startVSCode({
  files: { "bank.py": BANK, "other.py": OTHER, "pyproject.toml": "" },
  settings: { "dpor.interpreter": process.env.DPOR_PYTHON },
  installed: false,
  env: { DPOR_MOCHA: path.join(process.env.DPOR_EDITOR_TOOLS, "node_modules", "mocha") },
});
/** Prints what mocha says; the workbench has more to say, mostly of services that are not there. */
function report(text) {
  if (text.startsWith("mocha: ")) console.log(text.slice("mocha: ".length));
}

/** What the extension wrote into its output channel. */
function extensionLog(user) {
  return globSync(`${user}/**/dpor.dpor-lsp/*.log`).map((file) => readFileSync(file, "utf8")).join("");
}

let code = 1;
try {
  const ended = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`the tests did not end in ${TIMEOUT} s`)), TIMEOUT * 1000).unref();
    void vscode.context.exposeFunction("codeAutomationExit", (status) => resolve(status));
  });
  await vscode.context.exposeFunction("codeAutomationLog", (type, args) => report(format(...args)));
  const remote = (folder) => `vscode-remote://127.0.0.1:${vscode.port}${folder}`;
  const payload = [
    ["extensionDevelopmentPath", remote(EXTENSION)],
    ["extensionTestsPath", remote(path.join(EXTENSION, "dist", "host", "index.js"))],
  ];
  await openWorkbench(vscode, `&payload=${encodeURIComponent(JSON.stringify(payload))}`);
  code = await ended;
  if (code !== 0) console.log(extensionLog(vscode.user));
} catch (error) {
  console.error(error, extensionLog(vscode.user));
} finally {
  await vscode.close();
}
process.exit(code);
