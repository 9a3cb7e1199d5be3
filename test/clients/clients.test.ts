import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Customer } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import { CLIENTS, type Client, modelOf } from './clients.ts';
import { type ActResult, clientsMissing, runClient } from './run-client.ts';
import { roleOfWeather, toolsOf, weatherProvider } from './weather-provider.ts';

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

function run(client: Client): Promise<readonly ActResult[]> {
  gateway.provider.script(modelOf(client), weatherProvider);
  return runClient(client, {
    url: `${gateway.stack.origin}/v1`,
    key: customer.key,
    poorKey: poor.key,
    model: modelOf(client),
    home: mkdtempSync(join(folder, 'home-')),
  });
}

requirement(clientsMissing(), () => {
  describe.concurrent('with base URL and key alone', () => {
    test.for(CLIENTS)(
      '$name chats, streams, answers a tool call, and reports a refusal',
      async (client, { expect }) => {
        const results = await run(client);
        const refusal = {
          name: client.error,
          message: expect.stringContaining('balance'),
          at: client.code ?? null,
          code: client.code === undefined ? null : 'insufficient_credits',
        };
        expect(results).toEqual([
          { act: 'chat', got: expect.stringContaining(DEFAULT_TEXT) },
          { act: 'stream', got: expect.any(Array) },
          { act: 'tool', got: expect.stringContaining(DEFAULT_TEXT) },
          { act: 'poor', error: refusal },
        ]);
        const pieces = results[1]?.got as readonly string[];
        expect(pieces.length).toBeGreaterThan(1);
        expect(pieces.join('')).toBe(DEFAULT_TEXT);

        // The customer without credit reaches no provider.
        const seen = gateway.provider.requests(modelOf(client));
        const [chat, stream, call, answer, final] = seen;
        if (!chat || !stream || !call || !answer) throw new Error(`${seen.length} requests`);
        expect(chat.body.toString()).toContain('Say hello.');
        expect(stream.stream).toBe(true);
        expect(toolsOf(call)).toContain('weather');
        expect(roleOfWeather(call)).toBeUndefined();
        expect(roleOfWeather(answer)).toBe(client.resultRole ?? 'tool');
        expect(final).toBeUndefined();
      },
    );
  });
});
