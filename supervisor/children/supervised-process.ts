import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from '#core/retry/back-off.ts';
import { type Exit, exitText, type Running } from './child-process.ts';

/** Delay before the second consecutive restart. The first restart is immediate. */
export const FIRST_DELAY_MS = 200;
export const LONGEST_DELAY_MS = 5_000;
/** A process that was up this long has recovered, so its next death counts as the first. */
export const RECOVERED_AFTER_MS = 30_000;

export interface StartFailure {
  readonly kind: 'start_failure';
  readonly message: string;
  /** True if the process refused its configuration, so that another attempt would fail too. */
  readonly final: boolean;
}

export interface SupervisedOptions {
  /** Name in messages to the operator, such as `Envoy`. */
  readonly name: string;
  /** Resolves when the process serves. Gives up when the signal aborts. */
  start(signal: AbortSignal): Promise<Running | StartFailure>;
  report(line: string): void;
  /** Called if a later start fails as `final` (exit 78), ending the service. Others are retried. */
  gaveUp(message: string): void;
}

/** A process that the service does not need. It is restarted less often than others. */
export interface OptionalProcessOptions extends Pick<SupervisedOptions, 'name' | 'start' | 'report'> {
  readonly longestDelayMs: number;
}

type AnyOptions = OptionalProcessOptions & Partial<SupervisedOptions>;

export interface SupervisedProcess {
  current(): Running | undefined;
  /** Stops the process and does not restart it. */
  stop(): Promise<void>;
}

export function startFailure(message: string, final = false): StartFailure {
  return { kind: 'start_failure', message, final };
}

export function isStartFailure(value: object): value is StartFailure {
  return 'kind' in value && value.kind === 'start_failure';
}

/** Restarts a process with back-off whenever it dies. Only a failed first start is returned. */
export async function keepRunning(
  options: SupervisedOptions,
  signal: AbortSignal,
): Promise<SupervisedProcess | StartFailure> {
  const first = await options.start(signal);
  return isStartFailure(first) ? first : watchOver({ ...options, longestDelayMs: LONGEST_DELAY_MS }, first);
}

export interface TriedProcess extends SupervisedProcess {
  /** Resolves when the process is up, or its first start has failed. */
  readonly tried: Promise<void>;
}

/** Keeps a process running for which nothing waits. A failed first start is retried as well. */
export function keepTrying(options: OptionalProcessOptions): TriedProcess {
  const { promise: tried, resolve } = Promise.withResolvers<void>();
  const start = (signal: AbortSignal) => options.start(signal).finally(resolve);
  return { ...watchOver({ ...options, start }, undefined), tried };
}

function watchOver(options: AnyOptions, first: Running | undefined): SupervisedProcess {
  const stopping = new AbortController();
  const nextDelayMs = restartDelays(options.longestDelayMs);
  let current = first;

  async function startOnce(upMs: number): Promise<void> {
    const again = await startAgain(options, stopping.signal, nextDelayMs, upMs);
    // `stop` was called during the start, and waits for this.
    if (stopping.signal.aborted) await again?.stop();
    else current = again;
  }

  async function watch(): Promise<void> {
    if (current === undefined) await startOnce(0);
    while (current !== undefined) {
      const startedMs = performance.now();
      const exit: Exit = await current.exited;
      current = undefined;
      if (stopping.signal.aborted) return;
      options.report(`${options.name} ended with ${exitText(exit)}; starting it again`);
      await startOnce(performance.now() - startedMs);
    }
  }

  const watching = watch();
  return {
    current: () => current,
    stop: async () => {
      stopping.abort();
      await current?.stop();
      await watching;
    },
  };
}

async function startAgain(
  options: AnyOptions,
  signal: AbortSignal,
  nextDelayMs: (upMs: number) => number,
  upMs: number,
): Promise<Running | undefined> {
  let delayMs = nextDelayMs(upMs);
  while (await pause(delayMs, signal)) {
    const result = await options.start(signal);
    if (!isStartFailure(result)) return result;
    if (signal.aborted) return undefined;
    if (result.final && options.gaveUp) {
      options.gaveUp(result.message);
      return undefined;
    }
    delayMs = nextDelayMs(0);
    options.report(`${result.message}; next attempt in ${delayMs} ms`);
  }
  return undefined;
}

/**
 * Returns a function that computes the delay before the next start, in ms, from how long the ended
 * process was up (0: its start failed).
 */
export function restartDelays(longestMs: number = LONGEST_DELAY_MS): (upMs: number) => number {
  let deaths = 0;
  return (upMs) => {
    if (upMs >= RECOVERED_AFTER_MS) deaths = 0;
    deaths += 1;
    return deaths === 1 ? 0 : backOffMs(deaths - 1, { firstMs: FIRST_DELAY_MS, longestMs });
  };
}

/** False if the signal came first. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (ms === 0) return true;
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}
