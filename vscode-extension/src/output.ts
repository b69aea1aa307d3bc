/** Shows what model code printed, apart from what the checker itself has to say. */

import * as vscode from "vscode";

import type { OutputParams } from "./protocol";
import type { Server } from "./server";

export class ModelOutput implements vscode.Disposable {
  private readonly channel = vscode.window.createOutputChannel("dpor: model output");
  private readonly subscription: vscode.Disposable;
  private last: string | undefined;

  constructor(server: Server) {
    this.subscription = server.onOutput((output) => this.append(output));
  }

  show(): void {
    if (this.last === undefined) {
      this.channel.appendLine("Nothing was printed by a model yet. What model code prints while it is checked is shown here.");
      this.last = "";
    }
    this.channel.show();
  }

  dispose(): void {
    this.subscription.dispose();
    this.channel.dispose();
  }

  private append({ model, text }: OutputParams): void {
    if (model !== this.last) {
      this.channel.appendLine(`── ${model}`);
      this.last = model;
    }
    this.channel.append(text.endsWith("\n") ? text : `${text}\n`);
  }
}
