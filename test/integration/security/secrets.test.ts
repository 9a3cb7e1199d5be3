import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CreatedKeyView } from '#contract/keys.ts';
import type { LinkView, MemberView } from '#contract/people.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../../harness/database.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, jsonOf, outcome } from '../../harness/gateway-client.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../../harness/redis-server.ts';
import { requirement } from '../../harness/requirement.ts';
import { addFiles, findSecrets, lookEverywhere, type Places } from '../../harness/secret-places.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { PROVIDER_SECRET } from '../../harness/test-config.ts';
import type { TestProcess } from '../../launchers/child-process.ts';
import { errorAnswer, jsonAnswer, rawAnswer, reset, streamAnswer, streamThen } from '../../provider/acts.ts';
import { AGENT_APIS } from '../../provider/agent-apis.ts';
import { reasoningOf, TOOL, TURNS, turnOf } from '../../provider/agent-provider.ts';
import type { Act, Call } from '../../provider/call.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';
import { createBrowser } from '../dashboard/dashboard-browser.ts';
import { startDashboardProcess } from '../dashboard/dashboard-child.ts';

/** No secret leaks during a journey of a customer and of people in the dashboard, or in a crash. */
const PROMPT = 'prompt-sentinel-81c2';
const COMPLETION = 'completion-sentinel-5d7e';
const WRONG_KEY = 'sk-gw-wrong-key-sentinel-93ab';
const IDEMPOTENCY_KEY = 'idempotency-sentinel-0c4d';
const WRONG_PASSWORD = 'wrong password sentinel 7a31';
const OWN_PASSWORD = 'own password sentinel 52fe';
const INVITED_PASSWORD = 'invited password sentinel b9d0';
/** Values that are stored in the request log, and must be in no process log. */
const OF_CUSTOMERS = { user: 'end-user-sentinel-27cd', metadata: { team: 'metadata-sentinel-64b8' } };
const MESSAGES = [{ role: 'user', content: PROMPT }];
const THINKS = { provider: 'fake', model: 'thinks', api: 'responses' } as const;

let provider: FakeProvider;
let redis: TestRedis;
let stack: Stack;
let dashboard: TestProcess;
let client: GatewayClient;
/** All secrets by name, added when they are created. */
const secrets: Record<string, string> = {
  PROVIDER_SECRET,
  PROMPT,
  COMPLETION,
  WRONG_KEY,
  IDEMPOTENCY_KEY,
  WRONG_PASSWORD,
  OWN_PASSWORD,
  INVITED_PASSWORD,
};
/** Responses to people who must not see the secrets of others. */
const errors: string[] = [];

async function operate<T>(...args: string[]): Promise<T> {
  const result = await runCommandLine(args, stack.env);
  if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
  return result.json as T;
}

requirement(missingRedis, () => {
  beforeAll(async () => {
    provider = await startFakeProvider();
    redis = await startTestRedis();
    stack = await startStack({
      postgresSocketDir: inject('postgresSocketDir'),
      env: { LOG_LEVEL: 'trace' },
      config: {
        providers: { fake: { base_url: provider.baseUrl } },
        models: { one: {}, thinks: { capabilities: ['tools'], targets: [THINKS] } },
        retries: { per_target: 0 },
        redis: redis.url,
        apis: { messages: true, responses: true, embeddings: true },
      },
    });
    dashboard = await startDashboardProcess(stack);
  });
  afterAll(async () => {
    client?.close();
    await dashboard?.end();
    await stack?.close();
    await redis?.stop();
    await provider?.close();
  });
  showLogsOnFailure(() => stack);

  describe('a journey', () => {
    test('of people: keys, passwords and links', peopleDoEverything);
    test('of requests: good, bad, repeated, streamed, malformed', requestsOfEveryKind);
    test('of an agent whose reasoning is kept in Redis', agentThinks);
    test('leaves no secret behind', async () => {
      await expect.poll(() => stack.logs().split('"request_id"').length).toBeGreaterThan(20);
      const places = await lookEverywhere(stack, redis.admin);
      places.set('errors', errors.join('\n'));
      places.set("the dashboard's log", dashboard.output());
      expect([...places.keys()]).toEqual(expect.arrayContaining([expect.stringMatching(/envoy\.yaml$/)]));
      for (const place of ['metrics', 'Redis', 'the database', "Envoy's /config_dump?include_eds"]) {
        expect([place, (places.get(place) ?? '').length > 200]).toEqual([place, true]);
      }
      expect(Object.keys(secrets).length).toBeGreaterThan(15);
      expect(findSecrets(places, secrets)).toEqual([]);
      const sentinels = { user: OF_CUSTOMERS.user, ...OF_CUSTOMERS.metadata };
      expect(findSecrets(new Map([['logs', stack.logs()]]), sentinels)).toEqual([]);
      expect(findSecrets(new Map([['the database', places.get('the database') ?? '']]), sentinels)).toHaveLength(2);
    });
    test('would be detected if it left a secret', () => {
      const places: Places = new Map([
        ['a', `x${secrets.cliKey}`],
        ['b', Buffer.from(`--${OWN_PASSWORD}--`).toString('base64')],
      ]);
      expect(findSecrets(places, secrets)).toEqual(['OWN_PASSWORD in b', 'cliKey in a']);
    });
  });

  test('a crash with a charge and a stored response in the charge log leaves no secret either', async () => {
    const name = /@\/(\w+)\?/.exec(stack.databaseUrl)?.[1] ?? '';
    const server = stack.databaseUrl.replace(`/${name}?`, '/postgres?');
    const cutDatabase = async (): Promise<void> => {
      await sql(server, `alter database ${name} allow_connections false`);
      await sql(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    };
    const whenAway = async (call: Call): Promise<void> => {
      await cutDatabase();
      await jsonAnswer({ text: COMPLETION })(call);
    };
    provider.script('one', whenAway);
    const headers = { 'idempotency-key': `${IDEMPOTENCY_KEY}-waiting` };
    expect(outcome(await client.chat({ model: 'one', messages: MESSAGES }, { headers }))).toBe('200');
    const places: Places = new Map();
    await stack.restartGateway('SIGKILL', async () => {
      addFiles(places, stack.paths.dataDir);
      await sql(server, `alter database ${name} allow_connections true`);
    });
    const waiting = [...places].filter(([path]) => path.includes('/spool/')).map(([, content]) => content);
    expect(waiting.join('')).toContain('gen-');
    places.set('logs', stack.logs());
    expect(findSecrets(places, secrets)).toEqual([]);
  });
});

async function peopleDoEverything(): Promise<void> {
  const org = await operate<{ id: string }>('org', 'create', '--name', 'Acme', '--credit', '10');
  const made = ['--org', org.id, '--name', 'cli', '--scopes', 'chat,usage:read'];
  secrets.cliKey = (await operate<{ key: string }>('key', 'create', ...made)).key;
  client = gatewayClient(stack.origin, secrets.cliKey);
  const user = ['--email', 'owner@acme.example', '--org', org.id];
  const { email, password } = await operate<{ email: string; password: string }>('user', 'create', ...user);
  secrets.firstPassword = password;
  const browser = createBrowser(stack.dashboardOrigin);
  const signIn = async (with_: string) =>
    (await browser.send('POST', '/api/session', { email, password: with_ })).status;
  const noteSession = (name: string, of = browser) => {
    for (const cookie of ['session', 'browser']) {
      const token = of.cookies.get(`gateway_${cookie}`) ?? '';
      expect(token.length).toBeGreaterThan(20);
      secrets[`${name} ${cookie}`] = token;
    }
  };
  expect(await signIn(WRONG_PASSWORD)).toBe(403);
  expect(await signIn(password)).toBe(200);
  noteSession('session');
  const changed = await browser.send('PUT', '/api/password', { current: password, next: OWN_PASSWORD });
  expect(changed.status).toBe(200);
  noteSession('secondSession');
  const path = `/api/organizations/${org.id}`;
  const key = await browser.send<CreatedKeyView>('POST', `${path}/keys`, { name: 'page', scopes: ['chat'] });
  secrets.pageKey = key.body.secret;
  expect(secrets.pageKey).toMatch(/^sk-gw-/);
  const replacement = await browser.send<CreatedKeyView>('POST', `${path}/keys/${key.body.key.id}/replacement`, {
    revokeOldAfterHours: 1,
  });
  secrets.replacementKey = replacement.body.secret;
  const invited = await browser.send<{ member: MemberView; link: LinkView }>('POST', `${path}/members`, {
    email: 'ada@acme.example',
    role: 'member',
  });
  secrets.linkToken = invited.body.link.url?.split('#')[1] ?? '';
  expect(secrets.linkToken.length).toBeGreaterThan(20);
  const ada = createBrowser(stack.dashboardOrigin);
  expect((await ada.send('POST', '/api/password-links/inspection', { token: secrets.linkToken })).status).toBe(200);
  const used = { token: secrets.linkToken, password: INVITED_PASSWORD };
  expect((await ada.send('POST', '/api/password-links/use', used)).status).toBe(200);
  noteSession('adasSession', ada);
  // Refused requests with secrets in unexpected places.
  for (const [method, where] of [
    ['GET', '/api/session'],
    ['POST', '/api/nowhere'],
    ['POST', '/api/session'],
  ] as const) {
    errors.push(
      (
        await ada.send(method, `${where}?token=${secrets.linkToken}`, {
          email: INVITED_PASSWORD,
          password: [OWN_PASSWORD],
        })
      ).text,
    );
  }
  expect(await signIn(OWN_PASSWORD)).toBe(200);
  noteSession('thirdSession');
  secrets.resetPassword = (await operate<{ password: string }>('user', 'reset-password', email)).password;
  await browser.get(`${path}/audit`);
}

async function requestsOfEveryKind(): Promise<void> {
  const nobody = gatewayClient(stack.origin, WRONG_KEY);
  const ofPage = gatewayClient(stack.origin, secrets.pageKey ?? '');
  const acts: readonly Act[] = [
    jsonAnswer({ text: COMPLETION }),
    streamAnswer({ pieces: [COMPLETION] }),
    streamThen(2, reset, { pieces: [COMPLETION] }),
    errorAnswer(401, `bad key ${PROVIDER_SECRET}`),
    rawAnswer(200, {}, `not json ${COMPLETION}`),
    reset,
  ];
  for (const act of acts) {
    provider.script('one', act);
    for (const stream of [false, true]) {
      const received = await client.chat({ model: 'one', messages: MESSAGES, stream, ...OF_CUSTOMERS });
      if (received.status !== 200) errors.push(received.text);
    }
  }
  for (const stream of [false, true]) {
    provider.script('one', stream ? streamAnswer({ pieces: [COMPLETION] }) : jsonAnswer({ text: COMPLETION }));
    const headers = { 'idempotency-key': `${IDEMPOTENCY_KEY}-${stream}` };
    const bodies = [0, 0, 1].map((temperature) => ({ model: 'one', messages: MESSAGES, stream, temperature }));
    for (const body of bodies) {
      const received = await ofPage.chat(body, { headers });
      if (received.status !== 200) errors.push(received.text);
    }
  }
  errors.push(
    (await client.chat({ model: 'one', messages: MESSAGES, [PROMPT.replaceAll('-', '_')]: 1, temperature: 9 })).text,
  );
  await sendKeyElsewhere();
  errors.push((await client.send({ path: '/v1/chat/completions', body: `{"messages": ["${PROMPT}"` })).text);
  errors.push((await nobody.chat({ model: 'one', messages: MESSAGES })).text);
  errors.push((await nobody.get(`/v1/models?api_key=${secrets.cliKey}`)).text);
  errors.push((await nobody.get(`/nowhere?api_key=${secrets.cliKey}`)).text);
  for (const head of [`GET /${secrets.cliKey} HTTP/9.9`, `BAD ${PROMPT}\r\nauthorization: Bearer ${secrets.cliKey}`]) {
    errors.push(await sendRaw(`${head}\r\n\r\n`));
  }
  nobody.close();
  ofPage.close();
}

/** Sends a key in place of other texts, in a served request and in refused ones. */
async function sendKeyElsewhere(): Promise<void> {
  const key = secrets.cliKey ?? '';
  const headers = { 'user-agent': `sdk/1 ${key}`, 'x-request-id': key };
  const mixedUp = { user: key, metadata: { [key]: key, team: key }, messages: MESSAGES };
  provider.script('one', jsonAnswer({ text: COMPLETION }));
  expect(outcome(await client.chat({ model: 'one', ...mixedUp }, { headers }))).toBe('200');
  // The response names the requested model, which only the holder of the key sees.
  expect(outcome(await client.chat({ model: key, ...mixedUp }, { headers }))).toBe('404 model_not_found');
  const message = { model: key, max_tokens: 1, messages: MESSAGES, metadata: { user_id: key } };
  const sent = { method: 'POST', body: JSON.stringify(message), headers };
  for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/responses', '/v1/embeddings'])
    expect(outcome(await client.send({ path, ...sent }))).toMatch(/^40/);
}

async function agentThinks(): Promise<void> {
  const api = AGENT_APIS.find((one) => one.api === THINKS.api);
  if (api === undefined) throw new Error(`no agent speaks ${THINKS.api}`);
  secrets.REASONING = reasoningOf(1);
  provider.script('thinks', api.answer(turnOf(1)), api.answer(turnOf(TURNS)));
  const tools = [{ type: 'function', function: { name: TOOL } }];
  const turn = async (messages: readonly object[]) =>
    jsonOf<{ choices: { message: { tool_calls: { id: string }[] } }[] }>(
      await client.chat({ model: 'thinks', tools, messages }),
    );
  const { tool_calls } = (await turn(MESSAGES)).choices[0]?.message ?? {};
  const results = tool_calls?.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'seen' })) ?? [];
  // A slow Redis may be skipped once.
  await expect
    .poll(async () => {
      await turn([...MESSAGES, { role: 'assistant', tool_calls }, ...results]);
      return provider.requests('thinks').at(-1)?.body.toString();
    })
    .toContain(reasoningOf(1));
}

/** Sends bytes that Envoy refuses before the gateway sees them. */
async function sendRaw(bytes: string): Promise<string> {
  const socket = connect(stack.apiPort, '127.0.0.1');
  socket.setTimeout(5_000, () => socket.destroy());
  socket.end(bytes);
  return text(socket);
}
