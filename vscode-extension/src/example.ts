/** Writes a first model for people who want to see what a check does. */

import * as vscode from "vscode";

const EXAMPLE = `"""A first model for dpor: two threads take two locks in opposite orders.

Save the file, and look at the squiggle, at the lens above the model and at the Problems panel. Then let both
threads take the locks in the same order, save, and the model is verified.
"""

import threading

import dpor


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.lock = threading.Lock()


def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            source.balance -= amount
            target.balance += amount


@dpor.model
def opposite_transfers():
    a, b = Account(100), Account(100)
    dpor.spawn(transfer, a, b, 30)
    dpor.spawn(transfer, b, a, 50)
    dpor.join_all()
    assert a.balance + b.balance == 200
`;

/** Writes the example into the workspace's folder, under a name that is free, and opens it. */
export async function createExample(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (folder === undefined) {
    throw new Error("Open a folder first: the example is a file in it.");
  }
  for (let number = 1; ; number += 1) {
    const uri = vscode.Uri.joinPath(folder.uri, number === 1 ? "dpor_example.py" : `dpor_example_${number}.py`);
    if (!(await exists(uri))) {
      await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(EXAMPLE));
      await vscode.window.showTextDocument(uri);
      return;
    }
  }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
