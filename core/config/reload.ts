import { isDeepStrictEqual } from 'node:util';
import { backOffMs } from '../retry/back-off.ts';
import { followExtraCas } from './extra-cas.ts';
import { FolderWatch } from './folder-watch.ts';
import type { SharedConfig } from './gateway-config.ts';
import type { DeclaredModels, LoadedConfig, LoadResult } from './load.ts';
import type { Failure, Problem } from './problem.ts';
import { currentFingerprint } from './source.ts';

export interface WatchOptions<Config extends SharedConfig> {
  readonly path: string;
  /** Reads the file at `path` with the secrets that this process needs. */
  readonly load: () => Promise<LoadResult<Config>>;
  /** Result of `load` at the start, already active. */
  readonly initial: LoadedConfig<Config>;
  /**
   * Prepares for the configuration (Envoy's clusters), which becomes active only if this succeeds.
   * `mayPass`: it may succeed later with the same files, and is retried.
   */
  readonly apply: (
    next: Config,
  ) => Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string; readonly mayPass: boolean }>;
  /** Called at each look at the files, for what is followed whether the file is refused or not. */
  readonly onLook?: () => Promise<void>;
  /** Called when a file is not in force. The former configuration stays active. */
  readonly onProblems: (problems: readonly Failure[]) => void;
  /** Called when a configuration has become active. */
  readonly onChange: (config: Config, notes: ReloadNotes) => void;
  /** Interval of reading the files if the system reports no change (network and bind mounts). */
  readonly pollMs?: number;
  /** Delay before the first retry after `mayPass`. Later delays grow. */
  readonly firstRetryMs?: number;
}

export interface ReloadNotes {
  readonly warnings: readonly Problem[];
  /** Changed fields whose old values stay active until a restart. */
  readonly restartNeeded: readonly RestartField[];
}

export type RestartField = (typeof FIXED_FIELDS)[number] | 'trusted_proxies';

export interface ConfigWatch<Config extends SharedConfig> {
  current(): Config;
  /** Models of the active file. */
  declared(): DeclaredModels;
  /** Reads the file now, changed or not (SIGHUP). Resolves when that is done, even if it failed. */
  reload(): Promise<void>;
  close(): void;
}

const FIXED_FIELDS = ['listen', 'stores', 'workers'] as const;

/** Several steps of a writer are one change. After the longest wait the file is read anyway. */
const QUIET_MS = 100;
const LONGEST_WAIT_MS = 1000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

export function watchConfig<Config extends SharedConfig>(options: WatchOptions<Config>): ConfigWatch<Config> {
  const { path, load } = options;
  let { config: current, declared, source } = options.initial;
  const followCas = followExtraCas();
  let closed = false;
  let queue: Promise<void> = Promise.resolve();
  let checkWaiting = false;
  const settling = createSettling(() => void inTurn(false));
  const retry = createRetry(() => void inTurn(true), options.firstRetryMs ?? FIRST_RETRY_MS);

  async function check(force: boolean): Promise<void> {
    if (closed) return;
    await Promise.all([followCas(), options.onLook?.()]);
    if (!force) {
      if ((await currentFingerprint(path, source)) === source.fingerprint) return;
      retry.startOver();
    }
    retry.cancel();
    const result = await load();
    source = result.source;
    await folders.follow([path, ...source.files]);
    if (closed) return;
    if (!result.ok) return options.onProblems(result.problems);

    const { config, restartNeeded } = keepFixed(options.initial.config, result);
    const applied = await options.apply(config);
    if (closed) return;
    if (!applied.ok) {
      if (applied.mayPass) retry.schedule();
      return options.onProblems([{ message: applied.reason }]);
    }
    current = config;
    declared = result.declared;
    options.onChange(config, { warnings: result.warnings, restartNeeded });
  }

  /** Makes one reload at a time. The newest state is always read last. */
  function inTurn(force: boolean): Promise<void> {
    if (!force && checkWaiting) return queue;
    if (!force) checkWaiting = true;
    queue = queue
      .then(() => {
        if (!force) checkWaiting = false;
        return check(force);
      })
      .catch((error: unknown) => {
        const message = `the configuration cannot be reloaded: ${error instanceof Error ? error.message : String(error)}`;
        options.onProblems([{ message }]);
      });
    return queue;
  }

  const folders = new FolderWatch(settling.event);
  const poll = setInterval(() => void inTurn(false), options.pollMs ?? 5000).unref();
  // The files may have changed since they were read. From here on no change is missed.
  void folders.follow([path, ...source.files]).then(() => inTurn(false));

  return {
    current: () => current,
    declared: () => declared,
    reload: () => inTurn(true),
    close() {
      closed = true;
      settling.cancel();
      retry.cancel();
      clearInterval(poll);
      folders.close();
    },
  };
}

/** Runs the work after a pause in the events, or after the longest wait. */
function createSettling(work: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let firstEventMs = 0;
  return {
    event(): void {
      const nowMs = performance.now();
      if (timer === undefined) firstEventMs = nowMs;
      clearTimeout(timer);
      const waitMs = Math.max(0, Math.min(QUIET_MS, firstEventMs + LONGEST_WAIT_MS - nowMs));
      timer = setTimeout(() => {
        timer = undefined;
        work();
      }, waitMs).unref();
    },
    cancel: () => clearTimeout(timer),
  };
}

/** Repeats the work after a failure, with growing delays. */
function createRetry(work: () => void, firstMs: number) {
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    schedule(): void {
      failures++;
      timer = setTimeout(work, backOffMs(failures, { firstMs, longestMs: LONGEST_RETRY_MS })).unref();
    },
    cancel: () => clearTimeout(timer),
    startOver(): void {
      failures = 0;
    },
  };
}

/**
 * Keeps fields that need a restart. Reports only their names: a store's URL has a password. Changed
 * trusted proxies apply at once, except in Envoy's bounds per address, which exempt those of the
 * start.
 */
function keepFixed<Config extends SharedConfig>(
  initial: Config,
  { config: next, storesChanged }: LoadedConfig<Config>,
): { config: Config; restartNeeded: RestartField[] } {
  const { listen, stores, workers, trustedProxies } = initial;
  const restartNeeded: RestartField[] = FIXED_FIELDS.filter(
    (field) => !isDeepStrictEqual(initial[field], next[field]) || (field === 'stores' && storesChanged),
  );
  const isBounded = Object.values(listen.perAddress).some((bound) => bound > 0);
  if (isBounded && !isDeepStrictEqual(trustedProxies, next.trustedProxies)) restartNeeded.push('trusted_proxies');
  return { config: { ...next, listen, stores, workers }, restartNeeded };
}
