/** Asks an interpreter whether it can run the server, without running anything of the workspace. */

import { execFile } from "node:child_process";

export type Probe =
  | { readonly kind: "ready"; readonly version: string; readonly python: string }
  | { readonly kind: "old"; readonly python: string }
  | { readonly kind: "missing"; readonly python: string; readonly pip: boolean }
  | { readonly kind: "broken"; readonly why: string };

/** `dpor-lsp` needs at least this Python. */
export const OLDEST_PYTHON = [3, 11] as const;

// Understood by every Python 3. The folder that Python puts first on its path is that of the extension, so that
// a file of the workspace cannot stand in for a module.
const SCRIPT = `
import json, sys
answer = {"python": "%d.%d.%d" % sys.version_info[:3], "version": None, "pip": False, "why": None}
try:
    import importlib.util
    answer["pip"] = importlib.util.find_spec("pip") is not None
    if sys.version_info >= (3, 11) and importlib.util.find_spec("dpor_lsp") is not None:
        import dpor_lsp
        import dpor
        answer["version"] = dpor_lsp.version()
except Exception as error:
    answer["why"] = "%s: %s" % (type(error).__name__, error)
print(json.dumps(answer))
`;

interface Answer {
  readonly python: string;
  readonly version: string | null;
  readonly pip: boolean;
  readonly why: string | null;
}

/** Runs the interpreter for a moment. `cwd` is a folder with no Python files; `env` its whole environment. */
export async function probe(
  interpreter: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  timeoutSeconds = 20,
): Promise<Probe> {
  try {
    return parse(await run(interpreter, cwd, env, timeoutSeconds));
  } catch (error) {
    return { kind: "broken", why: error instanceof Error ? error.message : String(error) };
  }
}

/** Reads the script's answer; raises an Error if that is not what was printed. */
export function parse(output: string): Probe {
  const line = output.trim().split("\n").at(-1) ?? "";
  let answer: Answer;
  try {
    answer = JSON.parse(line) as Answer;
  } catch {
    throw new Error(`it answered ${JSON.stringify(line.slice(0, 200))}, so it does not seem to be Python`);
  }
  const [major = 0, minor = 0] = answer.python.split(".").map(Number);
  if (major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])) {
    return { kind: "old", python: answer.python };
  }
  if (answer.why !== null) {
    return { kind: "broken", why: answer.why };
  }
  if (answer.version === null) {
    return { kind: "missing", python: answer.python, pip: answer.pip };
  }
  return { kind: "ready", version: answer.version, python: answer.python };
}

function run(interpreter: string, cwd: string, env: NodeJS.ProcessEnv, timeoutSeconds: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env, timeout: timeoutSeconds * 1000, windowsHide: true };
    const child = execFile(interpreter, ["-c", SCRIPT], options, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
      } else if (error.killed === true) {
        reject(new Error(`it gave no answer in ${timeoutSeconds} s`));
      } else if (error.code === "ENOENT") {
        reject(new Error("there is no such file"));
      } else {
        reject(new Error(stderr.trim().split("\n").at(-1) ?? error.message));
      }
    });
    child.stdin?.end();
  });
}
