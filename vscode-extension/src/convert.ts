/** Positions and ranges of the protocol as those of VS Code. */

import * as vscode from "vscode";

import type { Position, Range } from "./protocol";

export function toPosition(position: Position): vscode.Position {
  return new vscode.Position(position.line, position.character);
}

export function toRange(range: Range): vscode.Range {
  return new vscode.Range(toPosition(range.start), toPosition(range.end));
}
