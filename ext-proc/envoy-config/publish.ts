import { setTimeout as wait } from 'node:timers/promises';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { clustersPath } from './bootstrap.ts';
import { deleteUnnamedFiles, writeClusterFiles } from './cluster-files.ts';
import { type ClusterFile, type Clusters, clusterFile, clustersOf, usedProviders } from './clusters.ts';
import { type ClusterState, readClusterState } from './envoy-admin.ts';
import { EnvoyTokens } from './envoy-tokens.ts';
import type { Cluster } from './provider-cluster.ts';
import { replaceFile } from './replace-file.ts';

export type PublishResult =
  /** `confirmed: false`: Envoy does not run, and will read the file when it starts. */
  | { readonly ok: true; readonly confirmed: boolean }
  /** `mayPass`: these clusters may be loaded later, such as when a full disk has room again. */
  | { readonly ok: false; readonly reason: string; readonly mayPass: boolean };

type NotLoaded = Omit<Extract<PublishResult, { ok: false }>, 'ok'>;

export interface PublisherOptions {
  readonly paths: RuntimePaths;
  /** True for processes that wait until Envoy has clusters which another process writes. */
  readonly follows?: boolean;
  /** Receives errors of work in the background: clusters that could not be removed. */
  readonly onFault: (message: string) => void;
  /** Longest wait until Envoy has warmed the clusters. A silent name server takes 6 s of it. */
  readonly confirmWithinMs?: number;
  /** Time after `timeouts.total` until a cluster that is no longer used is removed. */
  readonly drainMarginMs?: number;
}

const POLL_MS = 25;
/** Longest pause between polls of a process that waits for the writing process. */
const LONGEST_POLL_MS = 400;
/** Longest wait for first tokens. Envoy fetches them a second after it has loaded the cluster. */
const FIRST_TOKEN_WITHIN_MS = 4000;
/** Longest wait for the writing process, which may just be starting. */
const FOLLOW_WITHIN_MS = 30_000;

/**
 * Keeps Envoy's cluster file in step with the configuration. Clusters are never changed. They are
 * added, and removed when they can have no request any more.
 */
export class ClusterPublisher {
  readonly #options: PublisherOptions;
  readonly #path: string;
  readonly #folder: string;
  readonly #tokens: EnvoyTokens;
  #current: Clusters = new Map();
  #totalMs = 0;
  /** Clusters of former configurations that requests may still run on. */
  readonly #leaving = new Map<string, { readonly cluster: Cluster; readonly timer: NodeJS.Timeout }>();
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#path = clustersPath(options.paths);
    this.#folder = options.paths.envoyDir;
    this.#tokens = new EnvoyTokens(options.paths.envoyAdminSocket);
  }

  /** Resolves when Envoy serves all clusters. If it does not, the former file is restored. */
  async publish(next: GatewayConfig): Promise<PublishResult> {
    try {
      return await this.#inTurn(() => this.#publish(next));
    } catch (error) {
      return { ok: false, reason: `${this.#path} cannot be written: ${String(error)}`, mayPass: true };
    }
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#leaving.values()) clearTimeout(timer);
    this.#leaving.clear();
  }

  async #publish(next: GatewayConfig): Promise<PublishResult> {
    if (this.#options.follows) return this.#follow(next);
    const { envoyAdminSocket } = this.#options.paths;
    const wanted = clustersOf(next, this.#folder);
    await writeClusterFiles(next, this.#folder);
    const before = await readClusterState(envoyAdminSocket);
    const file = clusterFile(new Map([...this.#everything(), ...wanted]));
    await replaceFile(this.#path, file.text);
    const problem = before === undefined ? undefined : await this.#whyNotLoaded(file, wanted, before);
    if (problem !== undefined) {
      await replaceFile(this.#path, clusterFile(this.#everything()).text);
      return { ok: false, ...problem };
    }
    if (before !== undefined) await this.#firstTokens(next);
    this.#switchTo(wanted, next.timeouts.totalMs);
    await deleteUnnamedFiles(this.#everything(), this.#folder);
    return { ok: true, confirmed: before !== undefined };
  }

  /** Waits for the writing process, which reads the same configuration at about this time. */
  async #follow(next: GatewayConfig): Promise<PublishResult> {
    const wanted = [...clustersOf(next, this.#folder).keys()];
    const withinMs = this.#options.confirmWithinMs ?? FOLLOW_WITHIN_MS;
    const deadlineMs = performance.now() + withinMs;
    for (let pollMs = POLL_MS; ; pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS)) {
      const state = await readClusterState(this.#options.paths.envoyAdminSocket);
      if (state === undefined) return { ok: true, confirmed: false };
      const absent = wanted.filter((name) => !state.active.has(name));
      if (absent.length === 0) return { ok: true, confirmed: true };
      if (performance.now() > deadlineMs) {
        const reason = `Envoy has not got the clusters within ${withinMs} ms (${absent.join(', ')})`;
        return { ok: false, reason, mayPass: true };
      }
      await wait(pollMs);
    }
  }

  /** Waits until Envoy has got, or failed to get, a token for each provider that needs one. */
  async #firstTokens(next: GatewayConfig): Promise<void> {
    const deadlineMs = performance.now() + FIRST_TOKEN_WITHIN_MS;
    const waiting = usedProviders(next).filter(({ auth }) => auth?.kind === 'oauth2');
    for (const provider of waiting) {
      while (!(await this.#tokens.isSettled(provider)) && performance.now() < deadlineMs) await wait(POLL_MS);
    }
  }

  async #whyNotLoaded(file: ClusterFile, wanted: Clusters, before: ClusterState): Promise<NotLoaded | undefined> {
    const withinMs = this.#options.confirmWithinMs ?? 15_000;
    const deadlineMs = performance.now() + withinMs;
    for (;;) {
      const state = await readClusterState(this.#options.paths.envoyAdminSocket);
      const absent = [...wanted.keys()].filter((name) => !state?.active.has(name));
      if (state?.version === file.version && absent.length === 0) return undefined;
      if (state !== undefined && state.refusals > before.refusals) {
        const reason = `Envoy refused the clusters (not loaded: ${absent.join(', ') || 'none'}); its log has the reason`;
        return { reason, mayPass: false };
      }
      if (performance.now() > deadlineMs) {
        const reason = `Envoy did not load the clusters within ${withinMs} ms (not loaded: ${absent.join(', ') || 'none'})`;
        return { reason, mayPass: true };
      }
      await wait(POLL_MS);
    }
  }

  #everything(): Clusters {
    return new Map([...[...this.#leaving].map(([name, { cluster }]) => [name, cluster] as const), ...this.#current]);
  }

  #switchTo(wanted: Clusters, totalMs: number): void {
    const drainMs = this.#totalMs + (this.#options.drainMarginMs ?? 60_000);
    const gone = [...this.#current].filter(([name]) => !wanted.has(name));
    for (const name of wanted.keys()) {
      clearTimeout(this.#leaving.get(name)?.timer);
      this.#leaving.delete(name);
    }
    for (const [name, cluster] of gone) {
      const timer = setTimeout(() => this.#takeOut(name), drainMs);
      timer.unref();
      this.#leaving.set(name, { cluster, timer });
    }
    this.#current = wanted;
    this.#totalMs = totalMs;
  }

  #takeOut(name: string): void {
    const done = this.#inTurn(async () => {
      if (!this.#leaving.delete(name) || this.#closed) return;
      await replaceFile(this.#path, clusterFile(this.#everything()).text);
      await deleteUnnamedFiles(this.#everything(), this.#folder);
    });
    done.catch((error: unknown) => this.#options.onFault(`cluster ${name} cannot be taken out: ${String(error)}`));
  }

  /** Makes one change of the file at a time. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}
