/**
 * What the language server and this extension say to each other beyond the Language Server Protocol.
 * Positions are those of LSP: lines and characters count from 0.
 */

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export type State =
  | "unchecked"
  | "queued"
  | "checking"
  | "verified"
  | "violated"
  | "incomplete"
  | "error"
  | "stale"
  | "ignored";

/** One step of a counterexample that matters for the failure; `text` says its number and its thread too. */
export interface Step {
  readonly thread: string;
  readonly text: string;
  readonly uri: string;
  readonly range: Range;
}

export interface Violation {
  readonly kind: string;
  readonly code: string;
  readonly message: string;
  /** Where it shows, if that is in another file than the model. */
  readonly uri?: string;
  readonly range: Range;
  readonly schedule: string;
  readonly steps: readonly Step[];
}

/** Why a model cannot be checked, or why a check was incomplete. */
export interface Reason {
  readonly code: string;
  readonly message: string;
  readonly fix?: string | null;
}

/** What the server knows of one model; `range` is that of its name. `expected` is true if the verdict is the one that the model announces. */
export interface ModelState {
  readonly id: string;
  readonly uri: string;
  readonly name: string;
  readonly range: Range;
  readonly state: State;
  readonly expected: boolean;
  readonly executions?: number | null;
  readonly blocked?: number | null;
  readonly redundant?: number | null;
  /** Executions a second. */
  readonly rate?: number | null;
  readonly seconds?: number | null;
  /** Estimated share of the exploration that is done, from 0 to 1. */
  readonly fraction?: number | null;
  readonly algorithm?: string | null;
  readonly memoryModel?: string | null;
  readonly cached?: boolean | null;
  readonly message?: string | null;
  readonly reason?: Reason | null;
  readonly violations?: readonly Violation[] | null;
}

export interface StatusParams {
  readonly uri: string;
  readonly version?: number | null;
  readonly models: readonly ModelState[];
}

export interface OutputParams {
  readonly model: string;
  readonly text: string;
}

export interface ModelReference {
  readonly uri: string;
  readonly model: string;
  readonly violation?: number;
}

export const Method = {
  models: "dpor/models",
  trace: "dpor/trace",
  traceView: "dpor/traceView",
  status: "dpor/status",
  output: "dpor/output",
} as const;

export const ServerCommand = {
  checkModel: "dpor.server.checkModel",
  checkFile: "dpor.server.checkFile",
  checkWorkspace: "dpor.server.checkWorkspace",
  cancel: "dpor.server.cancel",
  showSchedule: "dpor.server.showSchedule",
} as const;

/** The commands of this extension that the server may put into lenses and code actions. */
export const CLIENT_COMMANDS = ["dpor.replayTrace", "dpor.showTrace", "dpor.showSchedule"] as const;

/** Name of the debug adapter's own event and request: which step the replay is at, and go to one. */
export const STEP = "dpor/step";

export interface StepEvent {
  readonly step: number;
  readonly path?: string | null;
  readonly line?: number | null;
}
