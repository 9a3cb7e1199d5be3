import { type FSWatcher, watch } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';

const MAX_FOLDERS = 64;

/**
 * Reports changes in the folders of files. It watches folders because a rename replaces a file by
 * another one, and Kubernetes replaces a symbolic link beside the file (`..data`). The caller also
 * polls, for changes that the system does not report.
 */
export class FolderWatch {
  readonly #onEvent: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #closed = false;

  constructor(onEvent: () => void) {
    this.#onEvent = onEvent;
  }

  async follow(files: readonly string[]): Promise<void> {
    const folders = new Set<string>();
    for (const file of files) {
      folders.add(dirname(file));
      // A missing file has no real path, so the folder of its path is watched.
      folders.add(dirname(await realpath(file).catch(() => file)));
    }
    if (this.#closed) return;
    const wanted = [...folders].slice(0, MAX_FOLDERS);
    for (const [folder, watcher] of this.#watchers) {
      if (!wanted.includes(folder)) this.#stop(folder, watcher);
    }
    for (const folder of wanted) if (!this.#watchers.has(folder)) this.#start(folder);
  }

  close(): void {
    this.#closed = true;
    for (const [folder, watcher] of this.#watchers) this.#stop(folder, watcher);
  }

  #start(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#onEvent());
      watcher.on('error', () => this.#stop(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // The folder does not exist, or the kernel has no watches left. Polling covers it, and the
      // next `follow` tries again.
    }
  }

  #stop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
  }
}
