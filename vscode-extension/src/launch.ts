/** Makes the command lines of the server and of the debug adapter. */

import { existsSync, readdirSync } from "node:fs";
import * as path from "node:path";

export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** The copy of `dpor-lsp` that is inside the extension, made by `scripts/bundle.py`. */
export class Bundle {
  constructor(private readonly extensionPath: string) {}

  get available(): boolean {
    return existsSync(this.entry);
  }

  get entry(): string {
    return path.join(this.extensionPath, "bundled", "run.py");
  }

  /** A wheel of the same `dpor-lsp`, to install into a project's environment; null if there is none. */
  get wheel(): string | null {
    const folder = path.join(this.extensionPath, "bundled");
    const name = existsSync(folder) ? readdirSync(folder).find((each) => each.endsWith(".whl")) : undefined;
    return name === undefined ? null : path.join(folder, name);
  }

  /** `dpor`, `dpor_lsp` and greenlet: what worker processes need too, so it has to be on the path of those. */
  get checker(): string {
    return path.join(this.extensionPath, "bundled", "checker");
  }
}

/**
 * Returns how to run `dpor-lsp ARGS` under `interpreter`, from its environment or from `bundle`.
 * `-P` keeps files beside the working directory from standing in for modules.
 */
export function commandLine(
  interpreter: string,
  bundle: Bundle | null,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): CommandLine {
  const env: NodeJS.ProcessEnv = { ...environment, PYTHONUTF8: "1" };
  if (bundle === null) {
    return { command: interpreter, args: ["-P", "-m", "dpor_lsp", ...args], env };
  }
  const inherited = environment.PYTHONPATH;
  env.PYTHONPATH = inherited ? `${bundle.checker}${path.delimiter}${inherited}` : bundle.checker;
  return { command: interpreter, args: ["-P", bundle.entry, ...args], env };
}
