/** Keeps what the server last said of every model. Knows neither VS Code nor how the news arrive. */

import type { ModelState } from "./protocol";

export type Listener = (uri: string, models: readonly ModelState[]) => void;

export class ModelStore {
  private readonly files = new Map<string, readonly ModelState[]>();
  private readonly listeners = new Set<Listener>();

  /** Calls `listener` after every change of a file's models; returns a function that ends this. */
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Takes the whole list of a file's models. */
  update(uri: string, models: readonly ModelState[]): void {
    this.files.set(uri, models);
    this.tell(uri, models);
  }

  /** Takes the models of the whole workspace. Files that are not in it have none any more. */
  replaceAll(models: readonly ModelState[]): void {
    const files = new Map<string, ModelState[]>();
    for (const uri of this.files.keys()) {
      files.set(uri, []);
    }
    for (const model of models) {
      const list = files.get(model.uri);
      if (list === undefined) {
        files.set(model.uri, [model]);
      } else {
        list.push(model);
      }
    }
    for (const [uri, list] of files) {
      this.update(uri, list);
    }
  }

  /** Forgets everything, because there is no server any more that could answer for it. */
  clear(): void {
    const uris = [...this.files.keys()];
    this.files.clear();
    for (const uri of uris) {
      this.tell(uri, []);
    }
  }

  /** The models of a file, or null if nothing is known of it. */
  of(uri: string): readonly ModelState[] | null {
    return this.files.get(uri) ?? null;
  }

  all(): ModelState[] {
    return [...this.files.values()].flat();
  }

  find(uri: string, name: string): ModelState | undefined {
    return this.files.get(uri)?.find((model) => model.name === name);
  }

  private tell(uri: string, models: readonly ModelState[]): void {
    for (const listener of [...this.listeners]) {
      listener(uri, models);
    }
  }
}
