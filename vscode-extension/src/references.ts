/** Reads which model a command is meant for out of whatever VS Code, a lens or a test item hands to it. */

import type { ModelReference } from "./protocol";

/**
 * Accepts `(uri, model, violation?)`, as lenses and code actions give it, and `{uri, model, violation?}`.
 * Returns undefined if the arguments name no model, as when a command comes from the palette.
 */
export function parseReference(args: readonly unknown[]): ModelReference | undefined {
  const [first, second, third] = args;
  if (typeof first === "string" && typeof second === "string") {
    return reference(first, second, third);
  }
  if (typeof first === "object" && first !== null && "uri" in first && "model" in first) {
    const { uri, model } = first;
    const violation = "violation" in first ? first.violation : undefined;
    if (typeof uri === "string" && typeof model === "string") {
      return reference(uri, model, violation);
    }
  }
  return undefined;
}

function reference(uri: string, model: string, violation: unknown): ModelReference {
  return typeof violation === "number" ? { uri, model, violation } : { uri, model };
}

/** Identity of a counterexample: the trace view and the debugger of one find each other by it. */
export function referenceKey(reference: ModelReference): string {
  return `${reference.uri}::${reference.model}#${reference.violation ?? 0}`;
}
