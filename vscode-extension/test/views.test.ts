import assert from "node:assert/strict";
import { test } from "node:test";

import { occurrences } from "../src/inlineText";
import { forWebview, notice } from "../src/traceHtml";

test("only the page's own scripts may run", () => {
  const html = '<!DOCTYPE html><html><head><title>t</title></head><body><script nonce="abc">1</script></body></html>';
  const page = forWebview(html, "https://csp");
  assert.match(page, /script-src 'nonce-abc'"/u);
  assert.match(page, /default-src 'none'/u);
  assert.ok(page.indexOf("Content-Security-Policy") < page.indexOf("<title>"));
});

test("a policy of the page's own is replaced", () => {
  const html = `<html><head><meta http-equiv="Content-Security-Policy" content="default-src *"></head><body></body></html>`;
  const page = forWebview(html, "x");
  assert.equal(page.match(/Content-Security-Policy/gu)?.length, 1);
  assert.match(page, /script-src 'none'/u);
});

test("a notice cannot bring markup", () => {
  assert.match(notice("<script>&"), /&lt;script>&amp;/u);
});

test("names are found once a line, and not in strings or comments", () => {
  const lines = ['x = total + total  # total', 'print("total", x)', "self.total = 1"];
  const found = occurrences(lines, new Set(["total", "x", "self.total"]));
  assert.deepEqual(
    found.map(({ line, start, name }) => [line, start, name]),
    [
      [0, 0, "x"],
      [0, 4, "total"],
      [1, 15, "x"],
      [2, 0, "self.total"],
    ],
  );
});

test("an attribute is not taken for a variable of the same name", () => {
  assert.deepEqual(occurrences(["account.total"], new Set(["total"])), []);
  assert.deepEqual(occurrences(["account.total"], new Set(["account"])).map(({ end }) => end), [7]);
});
