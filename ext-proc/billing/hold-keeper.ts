import type { Clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import type { NanoUsd } from '#core/money.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { Hold, HoldRelease, LimitStore, Renewal } from '../limits/limit-store.ts';

export type HoldOwner = Pick<Settlement, 'generationId' | 'organizationId' | 'keyId'>;

export interface HoldKeeperOptions {
  readonly limits: Pick<LimitStore, 'renew' | 'release'>;
  readonly clock: Clock;
  readonly renewEveryMs: number;
  /** After a newer fence was read, every hold must be renewed within this time. */
  readonly renewWithinMs: number;
  readonly onProblem: (problem: HoldProblem) => void;
  readonly log: Log;
}

export type HoldProblem =
  /** Holds that the store lost while it admitted requests: others could use their money. */
  | { readonly kind: 'exposed'; readonly holds: number }
  /** Holds that the new master does not know: their requests have to end. */
  | { readonly kind: 'stranded'; readonly holds: number }
  /** Holds whose renewal failed. Reported once, until all are renewed again. */
  | { readonly kind: 'not_renewed'; readonly holds: number; readonly error: unknown };

type HowReleased = Omit<HoldRelease, 'holdId' | 'organizationId' | 'keyId' | 'nowMs'>;

/**
 * Interval of `look`: failed renewals and releases are retried, and stranded holds ended, this
 * often.
 */
const LOOK_EVERY_MS = 500;
/** Enough failed releases for an outage of minutes. Further holds end with their quarantine. */
const MOST_FAILED = 20_000;
/** Failed releases that are retried together. */
const MOST_TOGETHER = 200;

/**
 * Tells the limit store of this process's holds. Renews their leases, all of them every
 * `renewEveryMs`, failed ones every 500 ms. No request ends because a renewal fails: an expired
 * hold is in quarantine, and the next successful renewal makes it live again (docs/design.md,
 * "Holds are leases"). Exception: holds that are not renewed in time after a newer fence are
 * reported as `stranded`.
 */
export class HoldKeeper {
  readonly #options: HoldKeeperOptions;
  readonly #live = new Map<string, Hold>();
  /** Holds whose last renewal failed. Only these are retried early. */
  #failedRenewals: ReadonlySet<string> = new Set();
  #renewing = false;
  /** Holds without a renewal since the newest fence was read. Late, they are stranded. */
  #unrenewed = new Set<string>();
  #fencedAtMs = 0;
  #fences = 0;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  readonly #timer: NodeJS.Timeout;
  /** Releases to retry by hold id, because a hold without a release keeps its money. */
  readonly #failedReleases = new Map<string, HoldRelease>();
  #retrying: Promise<void> | undefined;
  /** Releases that the store has not answered. */
  readonly #releasing = new Set<Promise<void>>();

  constructor(options: HoldKeeperOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), Math.min(LOOK_EVERY_MS, options.renewEveryMs)).unref();
  }

  keep(hold: Hold): void {
    this.#live.set(hold.holdId, hold);
  }

  /** Frees slot and unused tokens of a hold. The owed amount stays held; renewals repeat it. */
  owe(owner: HoldOwner, tokensUsed: number, owedNanoUsd: NanoUsd): void {
    const hold = this.#live.get(owner.generationId);
    if (hold) this.#live.set(hold.holdId, { ...hold, owedNanoUsd });
    void this.#release(owner, { tokensUsed, owedNanoUsd });
  }

  /**
   * Ends a hold. Without `how` its request is not charged, but another process or request may have
   * made the charge. Never rejects: a release that fails is repeated.
   */
  release(
    owner: HoldOwner,
    how: Pick<HoldRelease, 'tokensUsed' | 'snapshot' | 'mayBeCharged'> = { tokensUsed: 0, mayBeCharged: true },
  ): Promise<void> {
    this.#live.delete(owner.generationId);
    return this.#release(owner, how);
  }

  /** Releases a hold by its generation, if this process still has it. */
  async releaseKept(generationId: string): Promise<void> {
    const hold = this.#live.get(generationId);
    if (hold) await this.release({ ...hold, generationId });
  }

  /** Releases the hold that an admission with an unknown result may have taken. */
  releaseUnknown(owner: HoldOwner): void {
    this.#retryLater(this.#releaseOf(owner, { tokensUsed: 0 }));
  }

  live(): readonly Hold[] {
    return [...this.#live.values()];
  }

  /**
   * Notes that a newer fence was read at this moment (monotonic clock). Renewals before it may have
   * reached a former master. A hold that cannot be renewed at the new master within
   * `renewWithinMs` is unknown there, and its request has to end.
   */
  onNewerFence(sinceMs: number): void {
    this.#fences += 1;
    this.#fencedAtMs = this.#unrenewed.size > 0 ? Math.min(this.#fencedAtMs, sinceMs) : sinceMs;
    this.#unrenewed = new Set(this.#live.keys());
    this.#renewedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Ends renewals. Resolves when the store was told of the last releases, or does not answer. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#releasing);
    await this.#retrying;
    await this.#retryReleases();
  }

  #look(): void {
    if (this.#failedReleases.size > 0) void this.#retryReleases();
    const { clock, renewEveryMs, renewWithinMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#unrenewed.size > 0 && nowMs >= this.#fencedAtMs + renewWithinMs) this.#endStranded();
    if (this.#renewing || this.#live.size === 0) return;
    const all = nowMs >= this.#renewedAtMs + renewEveryMs;
    if (all) this.#renewedAtMs = nowMs;
    const due = all ? this.live() : this.live().filter(({ holdId }) => this.#failedRenewals.has(holdId));
    if (due.length > 0) void this.#renew(due);
  }

  #endStranded(): void {
    const holds = [...this.#unrenewed].filter((holdId) => this.#live.has(holdId)).length;
    this.#unrenewed = new Set();
    if (holds > 0) this.#options.onProblem({ kind: 'stranded', holds });
  }

  async #renew(holds: readonly Hold[]): Promise<void> {
    const { limits, clock } = this.#options;
    this.#renewing = true;
    const fencesBefore = this.#fences;
    const renewal = await limits.renew(holds, clock.nowMs()).catch((error: unknown) => ({
      takenBack: [],
      exposed: [],
      failed: [{ holdIds: holds.map(({ holdId }) => holdId), error }],
    }));
    this.#renewing = false;
    this.#noteFailed(renewal);
    // If a newer fence was read meanwhile, this renewal may have reached the former master.
    if (this.#fences === fencesBefore)
      for (const { holdId } of holds) if (!this.#failedRenewals.has(holdId)) this.#unrenewed.delete(holdId);
    const exposed = renewal.exposed.filter((holdId) => this.#live.has(holdId)).length;
    if (exposed > 0) this.#options.onProblem({ kind: 'exposed', holds: exposed });
    const ended = new Set(renewal.takenBack.filter((holdId) => !this.#live.has(holdId)));
    // The renewal registered these again while they ended, perhaps with a charge.
    for (const hold of holds) if (ended.has(hold.holdId)) void this.release({ ...hold, generationId: hold.holdId });
  }

  #noteFailed({ failed }: Renewal): void {
    const failedBefore = this.#failedRenewals.size;
    this.#failedRenewals = new Set(failed.flatMap(({ holdIds }) => holdIds));
    const [first] = failed;
    if (first === undefined || failedBefore > 0) return;
    this.#options.onProblem({ kind: 'not_renewed', holds: this.#failedRenewals.size, error: first.error });
  }

  #release(owner: HoldOwner, how: HowReleased): Promise<void> {
    const { limits, log } = this.#options;
    const release = this.#releaseOf(owner, how);
    const releasing = limits
      .release(release)
      .catch((error: unknown) => {
        this.#retryLater(release);
        log.warn({ err: error, generation_id: release.holdId }, 'a hold could not be released yet');
      })
      .finally(() => this.#releasing.delete(releasing));
    this.#releasing.add(releasing);
    return releasing;
  }

  /** A release that only marks its hold as owed does not replace one that ends the hold. */
  #retryLater(release: HoldRelease): void {
    const { holdId, owedNanoUsd } = release;
    if (owedNanoUsd !== undefined && this.#failedReleases.has(holdId)) return;
    if (this.#failedReleases.size < MOST_FAILED) this.#failedReleases.set(holdId, release);
  }

  #retryReleases(): Promise<void> {
    this.#retrying ??= this.#retryEach().finally(() => {
      this.#retrying = undefined;
    });
    return this.#retrying;
  }

  /** Retries all failed releases, until one finds the store unavailable. */
  async #retryEach(): Promise<void> {
    const all = [...this.#failedReleases.values()];
    for (let from = 0; from < all.length; from += MOST_TOGETHER) {
      const results = await Promise.all(all.slice(from, from + MOST_TOGETHER).map((release) => this.#retry(release)));
      if (results.includes('unavailable')) return;
    }
  }

  async #retry(release: HoldRelease): Promise<'done' | 'unavailable'> {
    const { limits, clock } = this.#options;
    try {
      await limits.release({ ...release, nowMs: clock.nowMs() });
    } catch (error) {
      if (error instanceof StoreUnavailable) return 'unavailable';
      // Other errors are final: keys in the store were changed by hand.
    }
    if (this.#failedReleases.get(release.holdId) === release) this.#failedReleases.delete(release.holdId);
    return 'done';
  }

  #releaseOf({ generationId, organizationId, keyId }: HoldOwner, how: HowReleased): HoldRelease {
    return { ...how, holdId: generationId, organizationId, keyId, nowMs: this.#options.clock.nowMs() };
  }
}
