import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { errorAnswer, jsonAnswer, rawAnswer, reset, streamAnswer, streamThen } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { showLogsOnFailure } from './failure-logs.ts';
import { gatewayClient } from './gateway-client.ts';
import type { Customer } from './operator.ts';
import { type Stack, startStack } from './stack.ts';
import { PROVIDER_SECRET } from './test-config.ts';

const PROMPT = 'prompt-sentinel-81c2';
const COMPLETION = 'completion-sentinel-5d7e';
const WRONG_KEY = 'sk-gw-wrong-key-sentinel-93ab';

let provider: FakeProvider;
let stack: Stack;
let customer: Customer;

beforeAll(async () => {
  provider = await startFakeProvider();
  stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    env: { LOG_LEVEL: 'trace' },
    config: { providers: { fake: { base_url: provider.baseUrl } }, models: { one: {} }, retries: { per_target: 0 } },
  });
  customer = await stack.operator.customer();
});

afterAll(async () => {
  await stack?.close();
  await provider?.close();
});

showLogsOnFailure(() => stack);

/** Good and bad requests of every kind that could tempt somebody to log what it carries. */
async function useEverything(): Promise<string[]> {
  const client = gatewayClient(stack.origin, customer.key);
  const nobody = gatewayClient(stack.origin, WRONG_KEY);
  const messages = [{ role: 'user', content: PROMPT }];
  const errors: string[] = [];
  const acts = [
    jsonAnswer({ text: COMPLETION }),
    streamAnswer({ pieces: [COMPLETION] }),
    streamThen(2, reset, { pieces: [COMPLETION] }),
    errorAnswer(401, `bad key ${PROVIDER_SECRET}`),
    rawAnswer(200, {}, `not json ${COMPLETION}`),
    reset,
  ] as const;
  for (const act of acts) {
    provider.script('one', act);
    for (const stream of [false, true]) {
      const received = await client.chat({ model: 'one', messages, stream });
      if (received.status !== 200) errors.push(received.text);
    }
  }
  errors.push((await client.chat({ model: 'one', messages, [PROMPT.replaceAll('-', '_')]: 1, temperature: 9 })).text);
  errors.push((await client.send({ path: '/v1/chat/completions', body: `{"messages": ["${PROMPT}"` })).text);
  errors.push((await nobody.chat({ model: 'one', messages })).text);
  errors.push((await nobody.get(`/v1/models?api_key=${customer.key}`)).text);
  errors.push((await nobody.get(`/nowhere?api_key=${customer.key}`)).text);
  return errors;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

async function everyRow(): Promise<string> {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const rows: string[] = [];
    for (const { name } of tables.rows) {
      const result = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      rows.push(...result.rows.map(({ row }) => row));
    }
    return rows.join('\n');
  } finally {
    await client.end();
  }
}

test('no key, provider secret, prompt or completion in logs, metrics, files, database or errors', async () => {
  const errors = await useEverything();
  const generations = await everyRow();
  expect(generations).toContain(customer.keyId);
  // The log is written in pieces.
  const deadline = performance.now() + 3000;
  while (stack.logs().split('"request_id"').length <= 15 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const metrics = await (await fetch(`${stack.metricsOrigin}/metrics`)).text();
  const configFile = join(stack.paths.dataDir, 'gateway.yaml');
  const places: Record<string, string> = {
    errors: errors.join('\n'),
    logs: stack.logs(),
    metrics,
    database: generations,
  };
  for (const path of filesBelow(stack.paths.dataDir)) {
    // The operator's own file may hold what the operator wrote into it.
    if (path !== configFile && statSync(path).size < 64 * 1024 * 1024) places[path] = readFileSync(path, 'latin1');
  }
  expect(Object.keys(places).some((path) => path.endsWith('envoy.yaml'))).toBe(true);
  expect(stack.logs().split('"request_id"').length).toBeGreaterThan(15);
  const secrets = { key: customer.key, PROVIDER_SECRET, PROMPT, COMPLETION, WRONG_KEY };
  const found: string[] = [];
  for (const [place, text] of Object.entries(places)) {
    for (const [name, secret] of Object.entries(secrets)) if (text.includes(secret)) found.push(`${name} in ${place}`);
  }
  expect(found).toEqual([]);
});
