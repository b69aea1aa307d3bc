/** Says why the server cannot be started, and which fixes there are. */

import { OLDEST_PYTHON, type Probe } from "./probe";

export type MissingReason =
  | { readonly kind: "none" }
  | { readonly kind: "probe"; readonly interpreter: string; readonly probe: Exclude<Probe, { kind: "ready" }> };

export type Fix = "install" | "bundled" | "choose" | "documentation";

export interface Missing {
  /** The same for the same fault, so that it is told once. */
  readonly key: string;
  readonly sentence: string;
  /** In the order in which they are offered. */
  readonly fixes: readonly Fix[];
}

/** `bundle` tells whether the extension holds a copy of its own that could be used instead. */
export function missing(reason: MissingReason, bundle = false): Missing {
  if (reason.kind === "none") {
    return {
      key: "none",
      sentence: "dpor needs a Python interpreter to check models, and none was found.",
      fixes: ["choose", "documentation"],
    };
  }
  const { interpreter, probe } = reason;
  const key = `${probe.kind} ${interpreter}`;
  switch (probe.kind) {
    case "old":
      return {
        key,
        sentence:
          `dpor needs Python ${OLDEST_PYTHON.join(".")} or newer; ` +
          `the selected interpreter ${interpreter} is ${probe.python}.`,
        fixes: ["choose", "documentation"],
      };
    case "missing":
      return {
        key,
        sentence: `dpor-lsp is not installed for the selected interpreter, Python ${probe.python} (${interpreter}).`,
        fixes: [...(probe.pip ? (["install"] as const) : []), ...bundled(bundle), "choose", "documentation"],
      };
    case "broken":
      return {
        key,
        sentence: `dpor-lsp could not be started with ${interpreter}: ${probe.why}.`,
        fixes: [...bundled(bundle), "choose", "documentation"],
      };
  }
}

function bundled(available: boolean): Fix[] {
  return available ? ["bundled"] : [];
}

export const FIX_LABELS: Record<Fix, string> = {
  install: "Install",
  bundled: "Use Bundled",
  choose: "Choose Python",
  documentation: "Help",
};

/** Quotes an argument for the shells that VS Code opens terminals with: sh-like ones, cmd and PowerShell. */
export function quote(argument: string): string {
  return /^[\w@%+=:,./\\-]+$/u.test(argument) ? argument : `"${argument}"`;
}

/** The line that installs `what` (a wheel or the name of a distribution); PowerShell needs the `&`. */
export function installLine(interpreter: string, what: string, shell: string): string {
  const prefix = /pwsh|powershell/iu.test(shell) ? "& " : "";
  return `${prefix}${quote(interpreter)} -m pip install ${quote(what)}`;
}
