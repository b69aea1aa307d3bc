/** Fits the server's self-contained page of a counterexample into a webview. Knows nothing of VS Code. */

/**
 * Returns `html` with a content security policy that lets only the page's own inline styles and its scripts with a
 * nonce work, and nothing from the network. A policy that the page brings is replaced, so that there is one to read.
 */
export function forWebview(html: string, cspSource: string): string {
  const nonces = [...new Set([...html.matchAll(/<script\b[^>]*\bnonce="([^"]+)"/gu)].map((match) => match[1] ?? ""))];
  const scripts = nonces.length > 0 ? nonces.map((nonce) => `'nonce-${nonce}'`).join(" ") : "'none'";
  const policy = `default-src 'none'; img-src data:; font-src data:; style-src ${cspSource} 'unsafe-inline'; script-src ${scripts}`;
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
  const without = html.replaceAll(/<meta\b[^>]*http-equiv="?Content-Security-Policy"?[^>]*>\s*/giu, "");
  return /<head\b[^>]*>/iu.test(without)
    ? without.replace(/<head\b[^>]*>/iu, (head) => `${head}\n${meta}`)
    : `<!DOCTYPE html><html><head>${meta}</head><body>${without}</body></html>`;
}

/** What the page shows while there is nothing of the server's to show. */
export function notice(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<!DOCTYPE html><html><head><title>dpor</title></head>
<body style="font-family: var(--vscode-font-family); padding: 1rem"><p>${escaped}</p></body></html>`;
}
