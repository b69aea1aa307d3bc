/** Finds the names in source lines whose values the debugger can show at the lines' ends. */

export interface Occurrence {
  /** Counts from 0, in the given lines. */
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

const TOKEN = /("""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*)|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)/gu;

/**
 * Returns the first occurrence on each line of every name in `names`, dotted ones included; text in strings
 * and comments does not count. Of `self.balance` both `self.balance` and `self` are candidates, the longer first.
 */
export function occurrences(lines: readonly string[], names: ReadonlySet<string>): Occurrence[] {
  const found: Occurrence[] = [];
  lines.forEach((text, line) => {
    const seen = new Set<string>();
    for (const match of text.matchAll(TOKEN)) {
      const dotted = match[3];
      if (dotted === undefined) {
        continue;
      }
      const parts = dotted.split(".");
      for (let length = parts.length; length > 0; length -= 1) {
        const name = parts.slice(0, length).join(".");
        if (names.has(name)) {
          if (!seen.has(name)) {
            seen.add(name);
            found.push({ line, start: match.index, end: match.index + name.length, name });
          }
          break;
        }
      }
    }
  });
  return found;
}
