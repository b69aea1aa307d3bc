/** Paths on the machine that the extension host runs on. */

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import * as path from "node:path";

/**
 * True if `file` is reached through one of `folders`. Symbolic links on the way to the file's folder are followed,
 * the file's own is not: the interpreter of a virtual environment is a link that leads out of it.
 */
export function isInside(file: string, folders: readonly string[]): boolean {
  const candidates = [path.resolve(file), path.join(real(path.dirname(path.resolve(file))), path.basename(file))];
  return folders.some((folder) =>
    [path.resolve(folder), real(folder)].some((root) =>
      candidates.some((candidate) => {
        const relative = path.relative(root, candidate);
        return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
      }),
    ),
  );
}

/** Returns the first of `names` that is an executable file in a folder of the search path, or undefined. */
export function findOnPath(
  names: readonly string[],
  searchPath: string,
  accept: (file: string) => boolean = () => true,
): string | undefined {
  for (const name of names) {
    for (const folder of searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry))) {
      for (const suffix of process.platform === "win32" ? [".exe"] : [""]) {
        const file = path.join(folder, name + suffix);
        if (isExecutable(file) && accept(file)) {
          return file;
        }
      }
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}
