import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { sql } from '../harness/database.ts';
import { eventsOf, type GatewayClient } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { jsonAnswer, slowly, streamAnswer } from '../provider/acts.ts';
import type { Act } from '../provider/call.ts';

/**
 * Load with planned output lengths, so that the charge of each complete response is known. Only
 * output costs, 1,000 nano-dollars a token, so a hold is exactly the cost of the output limit.
 */
export const PLANNED_MODEL = { usd_per_million_tokens: { input: 0, output: 1 } };
const LIMIT = 400;
const IN_FLIGHT = 32;

export interface Tally {
  /** The expected charge, in nano-dollars, of each complete response that a client received. */
  readonly complete: Map<string, bigint>;
  readonly outcomes: Record<string, number>;
}

const tokensOf = (plan: number): number => 1 + ((plan * 7919) % LIMIT);
const costOf = (plan: number): bigint => 1000n * BigInt(tokensOf(plan));

/** Script of the model `exact`. */
export const plannedAnswer: Act = (call) => {
  const plan = Number(/plan (\d+)/.exec(call.seen.body.toString())?.[1]);
  const usage = { prompt_tokens: 3, completion_tokens: tokensOf(plan) };
  const act = call.seen.stream ? streamAnswer({ usage, paceMs: 20 }) : slowly(60, jsonAnswer({ usage }));
  return act(call);
};

/**
 * Keeps 32 requests in flight until the time is over, whatever their outcome. Half of them stream.
 */
export async function plannedLoad(clients: readonly GatewayClient[], untilMs: number): Promise<Tally> {
  const tally: Tally = { complete: new Map(), outcomes: {} };
  let plans = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const plan = plans++;
      const outcome = await one(clients[plan % clients.length], plan, tally);
      tally.outcomes[outcome] = (tally.outcomes[outcome] ?? 0) + 1;
      if (outcome !== 'complete') await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return tally;
}

async function one(client: GatewayClient | undefined, plan: number, tally: Tally): Promise<string> {
  if (!client) throw new Error('there is a client for every plan');
  const stream = plan % 2 === 0;
  const messages = [{ role: 'user', content: `plan ${plan}` }];
  try {
    const received = await client.chat({ model: 'exact', max_tokens: LIMIT, stream, messages });
    if (received.status !== 200) return String(received.status);
    if (!isComplete(received, stream)) return 'broken';
    tally.complete.set(String(received.headers['x-generation-id']), costOf(plan));
    return 'complete';
  } catch {
    return 'cut';
  }
}

function isComplete(received: Received, stream: boolean): boolean {
  if (!stream) return JSON.parse(received.text).object === 'chat.completion';
  return eventsOf(received).at(-1) === '[DONE]' && !received.text.includes('"finish_reason":"error"');
}

/**
 * Expects that every complete response was charged once and correctly, and that no balance was
 * negative.
 */
export async function expectCharged(databaseUrl: string, { complete }: Tally): Promise<void> {
  const charges = await sql<{ id: string; amount: string; times: string }>(
    databaseUrl,
    `select generation_id as id, sum(-amount_nano_usd) as amount, count(*) as times
     from ledger_entries where kind = 'charge' group by generation_id`,
  );
  const charged = new Map(charges.map(({ id, amount, times }) => [id, `${times} x ${amount}`]));
  const wrong = [...complete].filter(([id, cost]) => charged.get(id) !== `1 x ${cost}`);
  expect(wrong.map(([id, cost]) => `${id}: ${charged.get(id)} instead of ${cost}`)).toEqual([]);
  const [row] = await sql<{ lowest: string }>(
    databaseUrl,
    'select min(balance_nano_usd) as lowest from ledger_entries',
  );
  expect(Number(row?.lowest)).toBeGreaterThanOrEqual(0);
}
