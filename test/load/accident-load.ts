import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../harness/gateway-client.ts';
import type { Operator } from '../harness/operator.ts';
import { kindOf, play, type Seen } from './accident-requests.ts';

/**
 * Requests of every kind at a steady rate, of a customer with credit and of one whose credit runs
 * out again and again.
 */
export interface AccidentLoad {
  begun(): number;
  /** Begins no more requests and resolves when all have ended. */
  stop(): Promise<readonly Seen[]>;
}

const MOST_IN_FLIGHT = 600;
/** Credit comes in small amounts, so that some requests find none. */
export const POOR_CREDIT_USD = '0.002';
const POOR_CREDIT_EVERY_MS = 5_000;

export interface AccidentClients {
  readonly rich: readonly GatewayClient[];
  readonly poor: readonly GatewayClient[];
}

export function startLoad(clients: AccidentClients, requestsPerSecond: number): AccidentLoad {
  const seen: Seen[] = [];
  const underWay = new Set<Promise<void>>();
  let plan = 0;
  const began = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) * requestsPerSecond) / 1000);
    // Requests that could not begin in time are skipped, so that an outage does not end in a flood.
    if (underWay.size >= MOST_IN_FLIGHT) plan = Math.max(plan, due);
    while (plan < due && underWay.size < MOST_IN_FLIGHT) {
      const ours = kindOf(plan).poor ? clients.poor : clients.rich;
      const one = play(plan++, ours).then((all) => void seen.push(...all));
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
    }
  }, 20);
  return {
    begun: () => plan,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return seen;
    },
  };
}

export async function creditPoor(operator: Operator, organizationId: string, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await sleep(POOR_CREDIT_EVERY_MS, undefined, { signal: until }).catch(() => {});
    // PostgreSQL may be away.
    await operator.credit(organizationId, POOR_CREDIT_USD).catch(() => {});
  }
}
