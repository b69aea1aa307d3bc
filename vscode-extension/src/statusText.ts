/** What the language status item says, decided from the server's phase and the models of the active file. */

import type { ModelState } from "./protocol";
import { isBad, isPending, plural } from "./wording";

/** Where the server is in its life. */
export type Phase =
  | { readonly kind: "off"; readonly why: string }
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly version: string; readonly interpreter: string; readonly trusted: boolean }
  | { readonly kind: "missing"; readonly why: string }
  | { readonly kind: "waiting"; readonly attempt: number; readonly seconds: number }
  | { readonly kind: "failed"; readonly why: string };

export interface StatusText {
  readonly text: string;
  readonly detail: string;
  readonly severity: "information" | "warning" | "error";
  readonly busy: boolean;
  /** What a click on the item's action does. */
  readonly action: "output" | "restart" | "trust" | "fix" | "checkFile";
}

/** Returns what to show for a file whose models are `models`; null if the server has not told of this file yet. */
export function statusText(phase: Phase, models: readonly ModelState[] | null): StatusText {
  switch (phase.kind) {
    case "off":
      return item("dpor: restricted mode", phase.why, "warning", "trust");
    case "starting":
      return { ...item("dpor: starting", "The server is starting", "information", "output"), busy: true };
    case "missing":
      return item("dpor: not available", phase.why, "warning", "fix");
    case "waiting":
      return item(
        "dpor: restarting",
        `The server stopped unexpectedly; start number ${phase.attempt} in ${phase.seconds} s`,
        "warning",
        "output",
      );
    case "failed":
      return item("dpor: stopped", phase.why, "error", "restart");
    case "running":
      return running(phase, models);
  }
}

function running(phase: Phase & { kind: "running" }, models: readonly ModelState[] | null): StatusText {
  const server = `dpor-lsp ${phase.version}`;
  if (!phase.trusted) {
    return item("dpor: restricted mode", "Nothing is run until the folder is trusted", "warning", "trust");
  }
  if (models === null) {
    return { ...item("dpor: reading the file", server, "information", "output"), busy: true };
  }
  if (models.length === 0) {
    return item("dpor: no models in this file", server, "information", "output");
  }
  const groups = summary(models);
  const severity = models.some((model) => model.state === "error" || isBad(model))
    ? "error"
    : models.some((model) => model.state === "incomplete")
      ? "warning"
      : "information";
  const busy = models.some((model) => isPending(model.state));
  return { text: `dpor: ${groups}`, detail: server, severity, busy, action: "checkFile" };
}

const ORDER = [
  ["violated", (m: ModelState) => m.state === "violated" && !m.expected],
  ["violated as expected", (m: ModelState) => m.state === "violated" && m.expected],
  ["unexpectedly verified", (m: ModelState) => m.state === "verified" && !m.expected],
  ["with errors", (m: ModelState) => m.state === "error"],
  ["incomplete", (m: ModelState) => m.state === "incomplete"],
  ["being checked", (m: ModelState) => m.state === "checking"],
  ["waiting", (m: ModelState) => m.state === "queued"],
  ["changed", (m: ModelState) => m.state === "stale"],
  ["not checked", (m: ModelState) => m.state === "unchecked"],
  ["verified", (m: ModelState) => m.state === "verified" && m.expected],
  ["ignored", (m: ModelState) => m.state === "ignored"],
] as const;

/** "1 violated, 3 verified", what needs attention first. */
export function summary(models: readonly ModelState[]): string {
  const words: string[] = [];
  for (const [word, belongs] of ORDER) {
    const count = models.filter(belongs).length;
    if (count > 0) {
      words.push(`${count} ${word}`);
    }
  }
  return words.length > 0 ? words.join(", ") : plural(0, "model");
}

function item(
  text: string,
  detail: string,
  severity: StatusText["severity"],
  action: StatusText["action"],
): StatusText {
  return { text, detail, severity, busy: false, action };
}
