import { expect, test } from 'vitest';
import { responsesRequest } from './at-door.fixture.ts';
import { breakingAfter } from './broken-streams.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { streamOf } from './other-apis.fixture.ts';

const { egress, delivery } = await openDelivery();

const added = (output_index: number) => ({
  ...{ type: 'response.output_item.added', output_index },
  item: { type: 'function_call', id: `fc_${output_index}`, call_id: `c${output_index}`, name: 'f', arguments: '' },
});
const delta = (output_index: number, text: string) => ({
  ...{ type: 'response.function_call_arguments.delta', output_index, item_id: `fc_${output_index}`, delta: text },
});

test.each([0, 1])('a client of Responses pays for the deltas of call %i, which it gets as they come', async (call) => {
  const deltas = Array.from({ length: 50 }, () => delta(call, 'some words '));
  const events = [{ type: 'response.created', response: {} }, added(0), added(1), ...deltas];
  egress.respondWith(breakingAfter(Buffer.from(streamOf(events))));
  const to = client();
  const { charges } = await deliverTo(delivery, to, await responsesRequest('responses', {}, { stream: true }));
  expect(to.text().match(/some words /g)).toHaveLength(50);
  expect(charges[0]?.usage.completionTokens).toBeGreaterThan(99);
});
