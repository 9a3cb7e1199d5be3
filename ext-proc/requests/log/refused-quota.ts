import { MINUTE_MS } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';

export interface RefusedCaller {
  /** Absent: the key or the route does not exist. All such requests share one count. */
  readonly key: { readonly id: string; readonly organizationId: string } | undefined;
  /** True if the key is revoked or expired, or its organization suspended. */
  readonly isUnusable: boolean;
}

/**
 * Rows of a key, and of all such keys of an organization, in a UTC minute, from all processes of a
 * supervisor together.
 */
const OF_USABLE = { key: 100, organization: 300 };
const OF_UNUSABLE = { key: 10, organization: 30 };
/** Beyond this number of keys with refused requests in one minute, further keys get no row. */
const MOST_KEYS = 10_000;

interface Count {
  readonly id: string | undefined;
  readonly organizationId: string | undefined;
  written: number;
  omitted: number;
}

/**
 * Bounds the rows of the request log, and the access lines, that refused requests may write.
 * Refused requests cost their sender nothing, even with a revoked key, so without a bound they
 * fill disks. One line of the process log for each key and minute counts those that were omitted.
 * Those beyond the bound of an organization are one line without a key, or its many keys would fill
 * the log with these lines and leave no room for the keys of others.
 */
export class RefusedQuota {
  readonly #log: Pick<Log, 'info'>;
  readonly #share: (most: number) => number;
  #minute = -1;
  #counts = new Map<string, Count>();
  /** Rows of the usable or the unusable keys of an organization. */
  #ofOrganizations = new Map<string, number>();

  /** `workers` processes write side by side. Each has its share of the bounds. */
  constructor(log: Pick<Log, 'info'>, { workerIndex, workers }: { workerIndex: number; workers: number }) {
    this.#log = log;
    this.#share = (most) => Math.floor(most / workers) + (workerIndex < most % workers ? 1 : 0);
  }

  /** True if this request gets a row and an access line. */
  take({ key, isUnusable }: RefusedCaller, nowMs: number): boolean {
    this.report(nowMs);
    const most = isUnusable ? OF_UNUSABLE : OF_USABLE;
    const keys = `${key?.organizationId} ${isUnusable}`;
    const ofOrganization = key === undefined ? 0 : (this.#ofOrganizations.get(keys) ?? 0);
    const isFull = ofOrganization >= this.#share(most.organization);
    const count = this.#countOf(key?.organizationId, isFull ? undefined : key?.id);
    if (!isFull && count.written < this.#share(most.key)) {
      count.written += 1;
      this.#ofOrganizations.set(keys, ofOrganization + 1);
      return true;
    }
    count.omitted += 1;
    return false;
  }

  /** Logs how many were omitted, once their minute is over. */
  report(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.#minute) return;
    for (const { id: key, organizationId: organization, omitted } of this.#counts.values()) {
      if (omitted === 0) continue;
      const minuteBegan = new Date(this.#minute * MINUTE_MS).toISOString();
      this.#log.info(
        { organization, key, lines: omitted, minute: minuteBegan },
        'lines of refused requests were left out',
      );
    }
    this.#minute = minute;
    this.#counts = new Map();
    this.#ofOrganizations = new Map();
  }

  #countOf(organizationId: string | undefined, id: string | undefined): Count {
    const name = id ?? organizationId ?? '';
    const known = this.#counts.get(name);
    if (known) return known;
    if (this.#counts.size >= MOST_KEYS) return { id, organizationId, written: OF_USABLE.key, omitted: 0 };
    const count = { id, organizationId, written: 0, omitted: 0 };
    this.#counts.set(name, count);
    return count;
  }
}
