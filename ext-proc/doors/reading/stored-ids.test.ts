import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import { readAt } from '../../delivery/at-door.fixture.ts';
import { arbitraryRequest } from '../responses/arbitrary-request.fixture.ts';
import { RESPONSES_DOOR } from '../responses/responses-door.ts';

/** Input of the body that a target of Responses gets. */
async function passedInput(json: string): Promise<unknown> {
  const read = await readAt(RESPONSES_DOOR, JSON.parse(json));
  if (read === undefined || isRefusal(read) || !read.atDoor) throw new Error(JSON.stringify(read));
  expect(read.atDoor.passesTo({ api: 'responses' })).toBe(true);
  const sent = { model: 'm', outputLimit: 9, serviceTier: undefined, identities: new Map() };
  return JSON.parse(Buffer.concat(read.atDoor.passedBody(sent, [], false)).toString()).input;
}

describe('ids of items, which a provider may have stored', () => {
  test('are not passed on, at any position', async () => {
    const items = [
      { id: 'msg_1', type: 'message', role: 'user', content: 'a' },
      { role: 'user', id: 'msg_2', content: 'b' },
      { role: 'user', content: 'c', id: 'msg_3' },
      { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAA' },
      { type: 'function_call', call_id: 'c', id: 'fc_1', name: 'f', arguments: '{"id":"x"}' },
      { type: 'function_call_output', call_id: 'c', output: 'd', id: 'fco_1' },
    ];
    expect(await passedInput(JSON.stringify({ model: 'm', input: items }))).toEqual(
      items.map(({ id, ...item }) => (item.type === 'reasoning' ? { id, ...item } : item)),
    );
  });

  test('are the only members of items that are left out', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryRequest, async (request) => {
        const body = JSON.stringify(request);
        const { input } = JSON.parse(body) as { input: string | { id?: string; type?: string }[] };
        const left =
          typeof input === 'string'
            ? input
            : input.map(({ id, ...item }) => (item.type === 'reasoning' ? { id, ...item } : item));
        expect(await passedInput(body)).toEqual(left);
      }),
      { numRuns: 100 },
    );
  });
});
