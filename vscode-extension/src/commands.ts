/** The commands of the palette, of lenses, code actions and menus. */

import * as vscode from "vscode";

import { chooseInterpreter } from "./interpreter";
import { createExample } from "./example";
import { fix, WALKTHROUGH } from "./fix";
import type { ModelOutput } from "./output";
import { ServerCommand } from "./protocol";
import type { Replay } from "./debug";
import type { Server } from "./server";
import type { Targets } from "./targets";
import type { TraceViews } from "./traceView";

export interface Parts {
  readonly server: Server;
  readonly targets: Targets;
  readonly replay: Replay;
  readonly views: TraceViews;
  readonly output: ModelOutput;
  readonly log: vscode.LogOutputChannel;
}

export function registerCommands(parts: Parts, context: vscode.ExtensionContext): void {
  const { server, targets, replay, views, output, log } = parts;
  const commands: Record<string, (...args: unknown[]) => unknown> = {
    "dpor.checkModel": async (...args) => {
      requireTrust();
      const reference = await targets.model(args, false);
      if (reference !== undefined) {
        await server.execute(ServerCommand.checkModel, [reference.uri, reference.model]);
      }
    },
    "dpor.checkFile": async (...args) => {
      requireTrust();
      const uri = typeof args[0] === "string" ? args[0] : (args[0] instanceof vscode.Uri ? args[0] : activeFile()).toString();
      await server.execute(ServerCommand.checkFile, [uri]);
    },
    "dpor.checkWorkspace": async () => {
      requireTrust();
      await server.execute(ServerCommand.checkWorkspace, []);
    },
    "dpor.replayTrace": async (...args) => {
      requireTrust();
      const reference = await targets.model(args, true);
      if (reference !== undefined) {
        await replay.start(reference);
      }
    },
    "dpor.showTrace": async (...args) => {
      requireTrust();
      const reference = await targets.model(args, true);
      if (reference !== undefined) {
        await views.show(reference);
      }
    },
    "dpor.showSchedule": async (...args) => {
      requireTrust();
      const reference = await targets.model(args, true);
      if (reference !== undefined) {
        const { uri, model, violation } = reference;
        await server.execute(ServerCommand.showSchedule, violation === undefined ? [uri, model] : [uri, model, violation]);
      }
    },
    "dpor.restartServer": () => server.restart(true),
    "dpor.showOutput": () => log.show(),
    "dpor.showModelOutput": () => output.show(),
    "dpor.fix": () => fix(server, context.extensionPath),
    "dpor.chooseInterpreter": () => chooseInterpreter(),
    "dpor.createExample": () => createExample(),
    "dpor.openWalkthrough": () => vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false),
  };
  for (const [name, action] of Object.entries(commands)) {
    context.subscriptions.push(
      vscode.commands.registerCommand(name, async (...args: unknown[]) => {
        try {
          await action(...args);
        } catch (error) {
          const text = error instanceof Error ? error.message : String(error);
          log.error(`${name}: ${text}`);
          void tell(text, server);
        }
      }),
    );
  }
}

class Untrusted extends Error {}

function requireTrust(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Untrusted("dpor runs the code of models, which it only does in folders that you trust.");
  }
}

async function tell(text: string, server: Server): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    if ((await vscode.window.showWarningMessage(text, "Manage Workspace Trust")) !== undefined) {
      await vscode.commands.executeCommand("workbench.trust.manage");
    }
  } else if (server.missingReason !== undefined) {
    await vscode.commands.executeCommand("dpor.fix");
  } else {
    await vscode.window.showErrorMessage(text);
  }
}

function activeFile(): vscode.Uri {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== "python" || document.uri.scheme !== "file") {
    throw new Error("Open the Python file to check first.");
  }
  return document.uri;
}
