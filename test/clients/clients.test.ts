import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Customer } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import { CLIENTS, type Client, modelOf } from './clients.ts';
import { type ActError, type ActResult, clientsMissing, runClient } from './run-client.ts';
import { roleOfWeather, toolsOf, weatherProvider } from './weather-provider.ts';

const CODE = 'insufficient_credits';

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

/** The error of a client whose customer has no credit. */
function refusalOf({ error, code, ownCode }: Client, message: string): ActError {
  const codes = ownCode ? { at: 'error.code', code: ownCode } : { at: code ?? null, code: code ? CODE : null };
  return { name: error, message, ...codes };
}

requirement(clientsMissing(), () => {
  describe.concurrent('with base URL and key alone', () => {
    test.for(CLIENTS)('$name chats, streams, calls a tool, and reports a refusal', async (client, { expect }) => {
      const results = await run(client);
      const streamed = { act: 'stream', got: expect.any(Array) };
      expect(results).toEqual([
        { act: 'chat', got: expect.stringContaining(DEFAULT_TEXT) },
        ...(client.lacksStream ? [] : [streamed]),
        { act: 'tool', got: expect.stringContaining(DEFAULT_TEXT) },
        { act: 'poor', error: refusalOf(client, expect.stringContaining('balance')) },
      ]);
      const seen = [...gateway.provider.requests(modelOf(client))];
      expect(seen.shift()?.body.toString()).toContain('Say hello.');
      if (!client.lacksStream) {
        const pieces = results[1]?.got as readonly string[];
        expect(pieces.length).toBeGreaterThan(1);
        expect(pieces.join('')).toBe(DEFAULT_TEXT);
        expect(seen.shift()?.stream).toBe(true);
      }
      const [call, answer] = seen;
      if (!call || !answer) throw new Error('no request with the result of the tool');
      if (!client.asksFor) expect(toolsOf(call)).toContainEqual(expect.stringMatching(/weather$/));
      if (client.asksFor === 'a JSON Schema') expect(call.json).toHaveProperty('response_format.json_schema');
      expect(roleOfWeather(call)).toBeUndefined();
      expect(roleOfWeather(answer)).toBe(client.resultRole ?? 'tool');
      // Requests of the customer without credit reach no provider.
      expect(seen).toHaveLength(client.toolRequests ?? 2);
    });
  });
});
