/** Shows recorded counterexamples in webviews, one a counterexample, in step with the debugger. */

import * as vscode from "vscode";

import type { Replay, StepNews } from "./debug";
import { Method, type ModelReference } from "./protocol";
import { parseReference, referenceKey } from "./references";
import type { Server } from "./server";
import { normalize } from "./server";
import type { ModelStore } from "./store";
import { forWebview, notice } from "./traceHtml";

const VIEW_TYPE = "dpor.trace";

/** What the page sends. */
type Message =
  | { readonly type: "goto"; readonly step: number; readonly file?: string; readonly line?: number }
  | { readonly type: "open"; readonly file: string; readonly line: number; readonly column?: number };

interface TraceFile {
  readonly steps: readonly { readonly index: number; readonly location?: { readonly file: string; readonly line: number } | null }[];
}

/** Milliseconds after a step from the page in which the debugger's editor may not keep the focus. */
const FOCUS_KEPT = 3000;

interface View {
  readonly panel: vscode.WebviewPanel;
  readonly reference: ModelReference;
  trace: Promise<TraceFile | undefined> | undefined;
  /** Whether there was no counterexample to show yet, as in a window that has just been opened again. */
  waiting: boolean;
  /** Until when, in milliseconds since 1970, the page takes the focus back: someone walks through it with the keys. */
  focusedUntil: number;
}

export class TraceViews implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly views = new Map<string, View>();
  private readonly subscription: vscode.Disposable;
  private readonly current: vscode.TextEditorDecorationType;

  constructor(
    private readonly server: Server,
    private readonly replay: Replay,
    private readonly store: ModelStore,
  ) {
    this.current = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
    });
    this.subscription = vscode.Disposable.from(
      replay.onStep((news) => this.follow(news)),
      new vscode.Disposable(store.onChange((uri) => this.retry(uri))),
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        // The debugger moves a selection without mouse or keys. The page may not have been active yet when it did.
        if (kind !== vscode.TextEditorSelectionChangeKind.Mouse && kind !== vscode.TextEditorSelectionChangeKind.Keyboard) {
          this.views.forEach((view) => takeBack(view));
        }
      }),
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, this),
    );
  }

  /** Opens the view of a counterexample beside the source, or brings it to the front and up to date. */
  async show(reference: ModelReference): Promise<void> {
    const key = referenceKey(reference);
    const view = this.views.get(key) ?? this.create(key, reference);
    view.panel.reveal(undefined, true);
    await this.load(view);
  }

  /** Fills a panel that was open when the window was closed or loaded again; `state` is what the page has kept. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const kept = typeof state === "object" && state !== null && "reference" in state ? state.reference : undefined;
    const reference = parseReference([kept]);
    if (reference === undefined) {
      panel.webview.html = notice("It is not known any more which trace this was: show it again from its model.");
    } else {
      // Not awaited: the panel is only drawn, and takes messages, once this has returned.
      this.load(this.adopt(panel, referenceKey(reference), reference)).catch(tell);
    }
    return Promise.resolve();
  }

  dispose(): void {
    this.subscription.dispose();
    this.current.dispose();
    this.views.forEach(({ panel }) => void panel.dispose());
  }

  private create(key: string, reference: ModelReference): View {
    // The page holds where the reader is, its filters and its scroll position; making it anew on every change of tabs
    // would lose them.
    const panel = vscode.window.createWebviewPanel(
      VIEW_TYPE,
      `Trace of ${reference.model}`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, retainContextWhenHidden: true, enableFindWidget: true, localResourceRoots: [] },
    );
    return this.adopt(panel, key, reference);
  }

  private adopt(panel: vscode.WebviewPanel, key: string, reference: ModelReference): View {
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    const view: View = { panel, reference, trace: undefined, waiting: false, focusedUntil: 0 };
    panel.webview.onDidReceiveMessage((message: Message) => this.receive(view, message).catch(tell));
    panel.onDidChangeViewState(() => takeBack(view));
    panel.onDidDispose(() => {
      this.views.delete(key);
      this.unmark();
    });
    this.views.set(key, view);
    return view;
  }

  private async load(view: View): Promise<void> {
    view.panel.webview.html = notice("Recording the counterexample ...");
    try {
      const { html } = await this.server.request<{ html: string }>(Method.traceView, view.reference);
      view.trace = undefined;
      view.waiting = false;
      view.panel.webview.html = forWebview(html, view.panel.webview.cspSource);
    } catch (error) {
      view.waiting = true;
      view.panel.webview.html = notice(error instanceof Error ? error.message : String(error));
      return;
    }
    await view.panel.webview.postMessage({ type: "reference", reference: view.reference });
    const at = this.replay.step(referenceKey(view.reference));
    if (at !== undefined) {
      await view.panel.webview.postMessage({ type: "step", step: at.step });
    }
  }

  /** Shows what could not be shown before, once the model is violated. */
  private retry(uri: string): void {
    for (const view of this.views.values()) {
      const { reference } = view;
      if (view.waiting && reference.uri === uri && this.store.find(uri, reference.model)?.state === "violated") {
        view.waiting = false;
        this.load(view).catch(tell);
      }
    }
  }

  private follow({ key, event }: StepNews): void {
    const view = key === undefined ? undefined : this.views.get(key);
    if (view !== undefined) {
      this.unmark();
      void view.panel.webview.postMessage({ type: "step", step: event.step });
    }
  }

  private async receive(view: View, message: Message): Promise<void> {
    if (message.type === "open") {
      await this.open(view, message.file, message.line, message.column ?? 1, false);
      return;
    }
    view.focusedUntil = Date.now() + FOCUS_KEPT;
    const replayed = await this.replay.goTo(referenceKey(view.reference), message.step);
    if (replayed && view.focusedUntil > 0) {
      // The debugger opens its editor only now, however long it took to go there.
      view.focusedUntil = Date.now() + FOCUS_KEPT;
    }
    if (!replayed) {
      view.trace ??= this.read(view.reference);
      const place = (await view.trace)?.steps.find(({ index }) => index === message.step)?.location;
      if (place) {
        await this.open(view, place.file, place.line, 1, true);
      }
    }
  }

  private async read(reference: ModelReference): Promise<TraceFile | undefined> {
    const file = vscode.Uri.file(await this.replay.trace(reference));
    return JSON.parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(file))) as TraceFile;
  }

  /** Shows a line, counted from 1, in the column of editors that the trace view is not in. */
  private async open(view: View, file: string, line: number, column: number, preserveFocus: boolean): Promise<void> {
    const uri = this.locate(view.reference, file);
    const column_ = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString())
      ?.viewColumn;
    const position = new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
    const editor = await vscode.window.showTextDocument(uri, {
      viewColumn: column_ ?? vscode.ViewColumn.One,
      preserveFocus,
      selection: new vscode.Range(position, position),
    });
    this.unmark();
    if (preserveFocus) {
      editor.setDecorations(this.current, [new vscode.Range(position, position)]);
    }
  }

  /** Paths in a trace are absolute, or relative to the project's folder. */
  private locate(reference: ModelReference, file: string): vscode.Uri {
    if (/^(?:[/\\]|[A-Za-z]:[/\\])/u.test(file)) {
      return vscode.Uri.file(file);
    }
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(normalize(reference.uri)));
    return folder === undefined ? vscode.Uri.file(file) : vscode.Uri.joinPath(folder.uri, file);
  }

  private unmark(): void {
    vscode.window.visibleTextEditors.forEach((editor) => editor.setDecorations(this.current, []));
  }
}

/** Gives the focus back to a page that someone walks through, once, after the debugger has opened its editor. */
function takeBack(view: View): void {
  const { panel } = view;
  if (!panel.active && panel.visible && Date.now() < view.focusedUntil) {
    view.focusedUntil = 0;
    panel.reveal(undefined, false);
  }
}

function tell(error: unknown): void {
  void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
}
