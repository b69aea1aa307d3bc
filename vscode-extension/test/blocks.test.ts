import assert from "node:assert/strict";
import { test } from "node:test";

import { definitionBlock, enclosingDefinition } from "../src/blocks";

const LINES = `import dpor

@dpor.model(
    timeout=3,
)
@other
def first(
    size: int = 2,
):
    x = 1

    # a comment
    assert x

def second():
    def inner():
        return 1
    return inner
`.split("\n");

test("a definition reaches from its decorators to its last line", () => {
  assert.deepEqual(definitionBlock(LINES, 6), { first: 5, last: 12 });
  assert.deepEqual(definitionBlock(LINES, 14), { first: 14, last: 17 });
});

test("a line belongs to the innermost definition around it", () => {
  assert.equal(enclosingDefinition(LINES, 12), 6);
  assert.equal(enclosingDefinition(LINES, 16), 15);
  assert.equal(enclosingDefinition(LINES, 17), 14);
  assert.equal(enclosingDefinition(LINES, 0), undefined);
});
