/** Puts the state of a model into words, the same in the status item, the Test Explorer and the pickers. */

import type { ModelState, State } from "./protocol";

const WORDS: Record<State, string> = {
  unchecked: "not checked yet",
  queued: "waiting to be checked",
  checking: "checking",
  verified: "verified",
  violated: "violated",
  incomplete: "incomplete",
  error: "cannot be checked",
  stale: "changed since the last check",
  ignored: "ignored",
};

/** True for a state in which a check is still to come to its end. */
export function isPending(state: State): boolean {
  return state === "queued" || state === "checking";
}

/** True for a state that a finished check left, and that nothing has made out of date since. */
export function isVerdict(state: State): boolean {
  return state === "verified" || state === "violated" || state === "incomplete" || state === "error";
}

/** True if the state is what the model's author has to look at. */
export function isBad(model: ModelState): boolean {
  return (model.state === "violated" || model.state === "verified") && !model.expected;
}

/** "verified · 12 executions, 3 blocked · 0.2 s": state, counts and time, as far as they are known. */
export function describe(model: ModelState): string {
  const parts = [stateWords(model)];
  const counts = countWords(model);
  if (counts !== "" && (isVerdict(model.state) || model.state === "checking")) {
    parts.push(counts);
  }
  if (model.state === "checking" && typeof model.fraction === "number" && model.fraction > 0) {
    parts.push(`about ${Math.min(99, Math.round(model.fraction * 100))} %`);
  }
  if (typeof model.seconds === "number" && isVerdict(model.state) && model.state !== "error") {
    parts.push(model.cached === true ? "from the cache" : duration(model.seconds));
  }
  if (model.state === "incomplete" && model.reason) {
    parts.push(firstLine(model.reason.message));
  }
  return parts.join(" · ");
}

function stateWords(model: ModelState): string {
  if (model.state === "violated" && model.expected) {
    return "violated, as expected";
  }
  if (model.state === "verified" && !model.expected) {
    return "verified, but a violation was expected";
  }
  return WORDS[model.state];
}

function countWords(model: ModelState): string {
  const words: string[] = [];
  if (typeof model.executions === "number" && model.state !== "error") {
    words.push(plural(model.executions, "execution"));
    if (typeof model.blocked === "number" && model.blocked > 0) {
      words.push(`${thousands(model.blocked)} blocked`);
    }
  }
  return words.join(", ");
}

/** "1 execution", "1,200 executions". */
export function plural(count: number, noun: string): string {
  return `${thousands(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function thousands(count: number): string {
  return count.toLocaleString("en-US");
}

/** "4 ms", "1.3 s", "2 min 5 s". */
export function duration(seconds: number): string {
  if (seconds < 1) {
    return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  }
  if (seconds < 100) {
    return `${seconds.toFixed(1)} s`;
  }
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** The first line of a text of several. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
