import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Customer } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import { CLIENTS, modelOf } from './clients.ts';
import { clientsMissing, runClient } from './run-client.ts';
import { conversationOf, toolResults, weatherProvider } from './weather-provider.ts';

const gateway = withGateway({
  config: {
    models: Object.fromEntries(CLIENTS.map((client) => [modelOf(client), { capabilities: ['tools', 'json_mode'] }])),
  },
});
let customer: Customer;
let poor: Customer;
const folder = mkdtempSync(join(tmpdir(), 'gw-clients-'));

beforeAll(async () => {
  [customer, poor] = await Promise.all([
    gateway.stack.operator.customer(),
    gateway.stack.operator.customer({ credit: '0.000001' }),
  ]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

requirement(clientsMissing(), () => {
  describe.concurrent('with base URL and key alone', () => {
    test.for(CLIENTS)(
      '$name chats, streams, answers a tool call, and reports its error',
      async (client, { expect }) => {
        const model = modelOf(client);
        gateway.provider.script(model, weatherProvider);
        const results = await runClient(client, {
          url: `${gateway.stack.origin}/v1`,
          key: customer.key,
          poorKey: poor.key,
          model,
          home: mkdtempSync(join(folder, 'home-')),
        });
        expect(results).toEqual([
          { act: 'chat', got: expect.stringContaining(DEFAULT_TEXT) },
          { act: 'stream', got: expect.any(Array) },
          { act: 'tool', got: expect.stringContaining(DEFAULT_TEXT) },
          { act: 'poor', error: { ...client.error, code: 'insufficient_credits', message: expect.any(String) } },
        ]);
        const pieces = results[1]?.got as readonly string[];
        expect(pieces.length).toBeGreaterThan(1);
        expect(pieces.join('')).toBe(DEFAULT_TEXT);

        // One request each, and none of the customer without credit.
        const seen = gateway.provider.requests(model);
        const [chat, stream, call, answer] = seen;
        if (!chat || !stream || !call || !answer || seen.length > 4) throw new Error(`${seen.length} requests, not 4`);
        expect(chat.body.toString()).toContain('Say hello.');
        expect(stream).toMatchObject({ stream: true });
        expect(conversationOf(call).tools?.map((tool) => tool.function.name)).toEqual(['weather']);
        expect(toolResults(call)).toEqual([]);
        expect(JSON.stringify(toolResults(answer))).toContain('21 degrees and sunny in Kyiv');
      },
    );
  });
});
