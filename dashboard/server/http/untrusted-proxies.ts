import type { Clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';

const REPORT_EVERY_MS = 60_000;
const REMEMBER_MS = 3_600_000;
const WARNING =
  'a request came with X-Forwarded-For from an address that is not in trusted_proxies: if that is your proxy, name it there; limits and addresses in the audit log take all of its callers for one';

/**
 * Detects unconfigured proxies, behind which all callers seem to have the same address. `record`
 * stores the address for `doctor` and may fail. It and the log are called at most once a minute.
 */
export function watchProxies(log: Log, clock: Pick<Clock, 'monotonicMs'>, record: (address: string) => Promise<void>) {
  let newest: { readonly address: string; readonly atMs: number } | undefined;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return {
    note(address: string): void {
      const atMs = clock.monotonicMs();
      newest = { address, atMs };
      if (atMs - reportedAtMs < REPORT_EVERY_MS) return;
      reportedAtMs = atMs;
      log.warn({ proxy: address }, WARNING);
      record(address).catch((error: Error) => log.warn({ error: error.message }, 'the proxy was not recorded'));
    },
    /** Latest address in the last hour with X-Forwarded-For that is not in `trusted_proxies`. */
    newest: () =>
      newest !== undefined && clock.monotonicMs() - newest.atMs < REMEMBER_MS ? newest.address : undefined,
  };
}

export type UntrustedProxies = ReturnType<typeof watchProxies>;
