import type { ServerClock } from '#core/net/server-clock.ts';
import { type Finding, ok, problem, warning } from './check.ts';

/** Keys expire by the process's clock and are revoked by PostgreSQL's. Limits use Redis's. */
const OFF_MS = 1_000;
const FAR_OFF_MS = 30_000;

export function clockFinding(
  check: string,
  { clockAheadMs, clockUncertaintyMs }: Omit<ServerClock, 'latencyMs'>,
  whose: string,
  other = "this machine's",
): Finding {
  const offMs = Math.max(0, Math.abs(clockAheadMs) - clockUncertaintyMs);
  const amount = `${(Math.abs(clockAheadMs) / 1000).toFixed(offMs < OFF_MS ? 3 : 0)} s`;
  const found = `the clock of ${whose} is ${amount} ${clockAheadMs < 0 ? 'behind' : 'ahead of'} ${other}`;
  const advice = 'Let NTP set the clocks of both machines (chrony, systemd-timesyncd).';
  if (offMs >= FAR_OFF_MS) return problem(check, found, advice);
  return offMs >= OFF_MS ? warning(check, found, advice) : ok(check, found);
}

export function latencyFinding(check: string, latencyMs: number, slowMs: number, whose: string): Finding {
  const found = `${whose} answers in ${latencyMs.toFixed(latencyMs < 10 ? 2 : 0)} ms`;
  if (latencyMs <= slowMs) return ok(check, found);
  return warning(check, found, `Every completion waits for it: bring ${whose} nearer, or see what keeps it busy.`);
}
