// Starts VS Code (code-server) with the extension under test, and a browser that shows it.
//
// Both end with `close`. Every start has a user, extensions and a workspace of its own, in one temporary folder.

import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const HERE = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.resolve(HERE, "../../..");
export const EXTENSION = path.join(ROOT, "vscode-extension");
const TOOLS = process.env.DPOR_EDITOR_TOOLS;
const { chromium } = createRequire(path.join(TOOLS, "package.json"))("playwright-core");

/** Seconds until a workbench must be there, on a machine that does other things too. */
const START = 90;

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Options: `files` (name to text), `settings` of the user, `trust` (false: the folder is not trusted), `vsix` (a
 * package to install; without it the extension's folder is used as it is), `installed` (false: started for
 * development, by `payload`, so not installed as well), `env`.
 */
export async function startVSCode({ files = {}, settings = {}, trust = true, vsix, installed = true, env = {} } = {}) {
  const home = mkdtempSync(path.join(tmpdir(), "dpor-vscode-"));
  const folders = { user: path.join(home, "user"), extensions: path.join(home, "extensions"), workspace: path.join(home, "workspace") };
  Object.values(folders).forEach((folder) => mkdirSync(folder));
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folders.workspace, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const defaults = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "editor.minimap.enabled": false,
    "chat.commandCenter.enabled": false,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "always",
    "extensions.ignoreRecommendations": true,
    "telemetry.telemetryLevel": "off",
  };
  // Settings that belong to a machine are read from the one that the extensions run on, the others from the user's.
  for (const kind of ["User", "Machine"]) {
    mkdirSync(path.join(folders.user, kind), { recursive: true });
    writeFileSync(path.join(folders.user, kind, "settings.json"), JSON.stringify({ ...defaults, ...settings }));
  }
  const node = path.join(TOOLS, "bin", "node");
  const entry = path.join(TOOLS, "node_modules", "code-server", "out", "node", "entry.js");
  const common = ["--user-data-dir", folders.user, "--extensions-dir", folders.extensions];
  const environment = { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}', PATH: `${path.join(TOOLS, "bin")}:${process.env.PATH}`, ...env };
  if (vsix !== undefined) {
    await finished(spawn(node, [entry, ...common, "--install-extension", vsix], { env: environment, stdio: "inherit" }));
  } else if (installed) {
    symlinkSync(EXTENSION, path.join(folders.extensions, "dpor.dpor-lsp-0.1.0"));
  }
  const port = await freePort();
  const log = [];
  const server = spawn(
    node,
    [
      ...[entry, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"],
      ...(trust ? ["--disable-workspace-trust"] : []),
      ...common,
      ...["--reconnection-grace-time", "2", "--vscode-option", "enable-smoke-test-driver", folders.workspace],
    ],
    // A group of its own: it leaves children that do not end with it.
    { env: environment, detached: true, stdio: ["ignore", "pipe", "pipe"] },
  );
  server.stdout.on("data", (data) => log.push(String(data)));
  server.stderr.on("data", (data) => log.push(String(data)));
  const browser = await chromium.launch({
    executablePath: process.env.DPOR_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const close = async () => {
    await browser.close();
    try {
      process.kill(-server.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  };
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok, START, "code-server does not answer", log);
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    return { ...folders, port, log, browser, context, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the workspace in a page; `query` is added to the address. */
export async function openWorkbench(vscode, query = "") {
  const page = await vscode.context.newPage();
  await page.goto(`http://127.0.0.1:${vscode.port}/?folder=${encodeURIComponent(vscode.workspace)}${query}`);
  await page.waitForSelector(".monaco-workbench .part.statusbar", { timeout: START * 1000 });
  return page;
}

/** Copies files of the repository into an object for `files`. */
export function copyInto(folder, source, name) {
  cpSync(path.join(ROOT, source), path.join(folder, name));
}

async function until(condition, seconds, message, log) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      if (await condition()) return;
    } catch {
      // Not up yet.
    }
    if (Date.now() > end) throw new Error(`${message}\n${log.join("")}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function finished(child) {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`exit code ${code}`))));
  });
}
