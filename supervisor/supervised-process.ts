import { setTimeout as sleep } from 'node:timers/promises';
import { createBackOff, LONGEST_DELAY_MS } from './back-off.ts';
import { type Exit, exitText, type Running } from './running.ts';

/** Why a process did not come up. */
export interface StartFailure {
  readonly kind: 'start_failure';
  readonly message: string;
  /** It refused its configuration and has said why: another attempt would fail the same way. */
  readonly final: boolean;
}

export interface SupervisedOptions {
  /** As the operator calls it: `Envoy`. */
  readonly name: string;
  /** Resolves when the process serves. Gives up when the signal aborts. */
  start(signal: AbortSignal): Promise<Running | StartFailure>;
  report(line: string): void;
  /** It is down for good, and with it the service. */
  gaveUp(message: string): void;
}

/** What the service can do without: it is started again whatever it says, though not as often. */
export interface OptionalProcessOptions extends Pick<SupervisedOptions, 'name' | 'start' | 'report'> {
  readonly longestDelayMs: number;
}

type AnyOptions = OptionalProcessOptions & Partial<SupervisedOptions>;

export interface SupervisedProcess {
  /** The process that is up now. */
  current(): Running | undefined;
  /** Ends it and does not start it again. */
  stop(): Promise<void>;
}

export function startFailure(message: string, final = false): StartFailure {
  return { kind: 'start_failure', message, final };
}

export function isStartFailure(value: object): value is StartFailure {
  return 'kind' in value && value.kind === 'start_failure';
}

/** Starts a process and starts it again, with back-off, whenever it dies. The first start has to succeed. */
export async function keepRunning(
  options: SupervisedOptions,
  signal: AbortSignal,
): Promise<SupervisedProcess | StartFailure> {
  const first = await options.start(signal);
  return isStartFailure(first) ? first : watchOver({ ...options, longestDelayMs: LONGEST_DELAY_MS }, first);
}

export interface TriedProcess extends SupervisedProcess {
  /** Resolves when it is up, or has failed for the first time. */
  readonly tried: Promise<void>;
}

/** The same for a process that the rest does not wait for: a first start that fails is reported, and tried again as any other. */
export function keepTrying(options: OptionalProcessOptions): TriedProcess {
  const { promise: tried, resolve } = Promise.withResolvers<void>();
  const start = (signal: AbortSignal) => options.start(signal).finally(resolve);
  return { ...watchOver({ ...options, start }, undefined), tried };
}

function watchOver(options: AnyOptions, first: Running | undefined): SupervisedProcess {
  const stopping = new AbortController();
  const backOff = createBackOff(options.longestDelayMs);
  let current = first;

  async function startOnce(upMs: number): Promise<void> {
    const again = await startAgain(options, stopping.signal, backOff.nextDelayMs, upMs);
    // Asked to stop while it came up: `stop` waits for this.
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

/** False when the signal came first. */
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
