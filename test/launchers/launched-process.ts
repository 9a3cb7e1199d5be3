/**
 * A process under any launcher. Signals go to its pid, which is the host's pid also for a
 * container.
 */
export interface LaunchedProcess {
  /** For messages. */
  readonly command: string;
  readonly pid: number;
  /** Standard output and error so far, at most the last 8 MiB. */
  output(): string;
  hasEnded(): boolean;
  readonly exited: Promise<unknown>;
  /**
   * Sends the signal, waits for the end, and kills the process after `graceMs`. Containers are
   * removed.
   */
  end(signal?: NodeJS.Signals, graceMs?: number): Promise<void>;
}

const KEPT_BYTES = 8 * 1024 * 1024;

/** The last output of a process. */
export interface KeptOutput {
  keep(piece: Buffer): void;
  text(): string;
}

export function keepOutput(): KeptOutput {
  const pieces: Buffer[] = [];
  let size = 0;
  return {
    keep: (piece) => {
      pieces.push(piece);
      size += piece.length;
      while (size > KEPT_BYTES) size -= pieces.shift()?.length ?? 0;
    },
    text: () => Buffer.concat(pieces).toString(),
  };
}
