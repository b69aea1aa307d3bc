/** Finds which function definition a line of Python belongs to, by indentation. */

/** Returns the first and last line of the definition whose name stands on `line`; decorators belong to it. */
export function definitionBlock(lines: readonly string[], line: number): { readonly first: number; readonly last: number } {
  const depth = indentation(lines[line] ?? "");
  let first = line;
  while (first > 0 && isPartOfHead(lines[first - 1] ?? "", depth)) {
    first -= 1;
  }
  let last = line;
  for (let below = line + 1; below < lines.length; below += 1) {
    const text = lines[below] ?? "";
    if (text.trim() === "" || text.trimStart().startsWith("#")) {
      continue;
    }
    // The closing parenthesis of a signature over several lines stands at the depth of the definition.
    if (indentation(text) <= depth && !/^\s*[)\]]/u.test(text)) {
      break;
    }
    last = below;
  }
  return { first, last };
}

/** Returns the line of the innermost `def` around `line`, or undefined. */
export function enclosingDefinition(lines: readonly string[], line: number): number | undefined {
  let depth = indentation(lines[line] ?? "");
  for (let above = line; above >= 0; above -= 1) {
    const text = lines[above] ?? "";
    // A signature over several lines ends with a bracket at the depth of its definition.
    if (text.trim() === "" || /^\s*[)\]]/u.test(text)) {
      continue;
    }
    const isDefinition = /^\s*(?:async\s+)?def\s/u.test(text);
    if (isDefinition && (above === line || indentation(text) < depth)) {
      return above;
    }
    depth = Math.min(depth, indentation(text));
  }
  return undefined;
}

function isPartOfHead(text: string, depth: number): boolean {
  return indentation(text) === depth && text.trimStart().startsWith("@");
}

function indentation(text: string): number {
  return text.length - text.trimStart().length;
}
