import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuse } from '../errors/refusal.ts';
import type { Delivery } from './deliver.ts';
import {
  COMPLETION,
  client,
  deliverTo,
  deliveryOver,
  type Egress,
  order,
  sendJson,
  startEgress,
} from './delivery.fixture.ts';

let egress: Egress;
let delivery: Delivery;
beforeAll(async () => {
  egress = await startEgress();
  delivery = deliveryOver(egress);
});
afterAll(async () => {
  await delivery.close();
  await egress.close();
});

describe('a JSON answer', () => {
  test("is the provider's with our id, model and cost", async () => {
    egress.answerWith(sendJson(COMPLETION));
    const to = client();
    const { outcome, charges } = await deliverTo(delivery, to, order());
    expect(outcome).toMatchObject({ status: 200, clientGone: false, attempts: [{ provider: 'alpha', result: 'ok' }] });
    expect(JSON.parse(to.answers[0]?.body.toString() ?? '')).toEqual({
      ...COMPLETION,
      id: 'gen-TEST',
      model: 'public-model',
      usage: { ...COMPLETION.usage, cost: 0.25 },
    });
    expect(charges).toMatchObject([
      { usage: { promptTokens: 7, completionTokens: 5 }, upstreamId: 'chatcmpl-1', finishReason: 'stop' },
    ]);
  });
});
