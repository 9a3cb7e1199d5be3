/**
 * A process of which tests know what every launcher can tell. Signals go to its pid, which is the
 * machine's also in a container.
 */
export interface LaunchedProcess {
  /** For messages. */
  readonly command: string;
  readonly pid: number;
  /** Everything written to standard output and error so far, at most the last 8 MiB. */
  output(): string;
  hasEnded(): boolean;
  readonly exited: Promise<unknown>;
  /**
   * Sends the signal and waits for the end; after `graceMs` it is killed. Nothing of it is left
   * then.
   */
  end(signal?: NodeJS.Signals, graceMs?: number): Promise<void>;
}

const KEPT_BYTES = 8 * 1024 * 1024;

/** The last that a process wrote. */
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
