import { expect } from 'vitest';
import { type GatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import type { FakeProvider } from '../provider/fake-provider.ts';
import { createGate } from '../provider/gate.ts';

export interface Crowd {
  /** The requests use the clients in turn. */
  readonly clients: readonly GatewayClient[];
  readonly requests: number;
  /** Number of requests that must reach the provider. */
  readonly served: number;
  /** Output limit of each request. */
  readonly maxTokens: number;
  /** Output tokens that each request is charged for. Default: its limit. */
  readonly outputTokens?: number;
  readonly stream?: boolean;
}

/**
 * Sends all requests for the model `exact` at once. The provider holds its responses until every
 * request has been admitted or refused. Exactly `served` are admitted.
 */
export async function allAtOnce(provider: FakeProvider, crowd: Crowd): Promise<Received[]> {
  const { clients, requests, served, maxTokens, outputTokens = maxTokens, stream = false } = crowd;
  const gate = createGate();
  const usage = { prompt_tokens: 10, completion_tokens: outputTokens };
  provider.script('exact', gate.before(stream ? streamAnswer({ usage }) : jsonAnswer({ usage })));
  let decided = 0;
  const answers = Array.from({ length: requests }, async (_, index) => {
    const client = clients[index % clients.length];
    if (client === undefined) throw new Error('there is no client');
    const received = await client.chat({ model: 'exact', max_tokens: maxTokens, stream });
    decided += 1;
    return received;
  });
  await gate.waitFor(served);
  await expect.poll(() => decided).toBe(requests - served);
  expect({ refused: decided, arrived: gate.arrived() }).toEqual({ refused: requests - served, arrived: served });
  gate.open();
  return Promise.all(answers);
}

/** Counts the responses by outcome. */
export function countOutcomes(received: readonly Received[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const text of received.map(outcome)) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}
