/** Shows values at the ends of lines while a counterexample is replayed. */

import * as vscode from "vscode";

import { enclosingDefinition } from "./blocks";
import { DEBUG_TYPE } from "./debug";
import { occurrences } from "./inlineText";

interface Scope {
  readonly name: string;
  readonly variablesReference: number;
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** Scopes whose entries stand in the source under their own names. */
const SCOPES = new Set(["Locals", "Shared state"]);

export class InlineValues implements vscode.InlineValuesProvider {
  async provideInlineValues(
    document: vscode.TextDocument,
    viewPort: vscode.Range,
    context: vscode.InlineValueContext,
  ): Promise<vscode.InlineValue[]> {
    const session = vscode.debug.activeDebugSession;
    if (session?.type !== DEBUG_TYPE) {
      return [];
    }
    const values = await read(session, context.frameId);
    const stopped = context.stoppedLocation.start.line;
    const all = document.getText().split(/\r?\n/u);
    const first = Math.max(viewPort.start.line, enclosingDefinition(all, stopped) ?? stopped);
    const last = Math.min(viewPort.end.line, context.stoppedLocation.end.line);
    return occurrences(all.slice(first, last + 1), new Set(values.keys())).map(
      ({ line, start, end, name }) =>
        new vscode.InlineValueText(
          new vscode.Range(first + line, start, first + line, end),
          `${name} = ${values.get(name) ?? ""}`,
        ),
    );
  }
}

async function read(session: vscode.DebugSession, frameId: number): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  const { scopes } = (await session.customRequest("scopes", { frameId })) as { scopes: Scope[] };
  for (const scope of scopes.filter(({ name }) => SCOPES.has(name))) {
    const { variables } = (await session.customRequest("variables", {
      variablesReference: scope.variablesReference,
    })) as { variables: Variable[] };
    for (const { name, value } of variables) {
      if (!values.has(name)) {
        values.set(name, value);
      }
    }
  }
  return values;
}
