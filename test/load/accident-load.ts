import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../harness/gateway-client.ts';
import type { Operator } from '../harness/operator.ts';
import { kindOf, play, type Seen } from './accident-requests.ts';

/**
 * Requests of every kind at a steady rate, from a customer with credit and from one whose credit
 * runs out repeatedly.
 */
export interface AccidentLoad {
  begun(): number;
  /** Starts no further requests, and resolves when all have ended. */
  stop(): Promise<readonly Seen[]>;
}

const MOST_IN_FLIGHT = 600;
/** The poor customer gets credit in small amounts, so some of its requests find none. */
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
    // Requests that could not start in time are skipped, so that no flood follows an outage.
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
    // PostgreSQL may be down.
    await operator.credit(organizationId, POOR_CREDIT_USD).catch(() => {});
  }
}
