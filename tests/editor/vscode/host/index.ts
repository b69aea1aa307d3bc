/** What VS Code's extension host runs: every test of this folder, under the mocha that the environment names. */

import { format } from "node:util";

import type MochaClass from "mocha";

import { defineTests } from "./tests";

export async function run(): Promise<void> {
  // Required and not imported: mocha is installed outside the checkout.
  const Mocha = require(process.env.DPOR_MOCHA ?? "mocha") as typeof MochaClass;
  const mocha = new Mocha({ ui: "bdd", reporter: "spec", color: false, timeout: 60_000, ...(process.env.DPOR_GREP ? { grep: process.env.DPOR_GREP } : {}) });
  // Marked, so that it can be told from what the workbench has to say.
  Object.assign(Mocha.reporters.Base, { consoleLog: (...args: unknown[]) => console.log(`mocha: ${format(...args)}`) });
  mocha.suite.emit("pre-require", globalThis, "tests", mocha);
  defineTests();
  await new Promise<void>((resolve, reject) => {
    const runner = mocha.run((failures) => {
      if (failures === 0) {
        resolve();
      } else {
        reject(new Error(`${failures} tests failed`));
      }
    });
    // At once, in case that the rest takes too long to come to mocha's own list.
    runner.on("fail", (test, error) => console.log(`mocha: ${test.title}: ${String(error)}`));
  });
}
