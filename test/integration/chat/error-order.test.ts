import { beforeAll, describe, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { BY } from '../../harness/operator.ts';
import type { Stack } from '../../harness/stack.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/** Clients by the defect of their key; `good` has every right but little money. */
let clients: Record<'good' | 'unknown' | 'revoked' | 'address' | 'suspended' | 'scope' | 'model', GatewayClient>;

const gateway = withGateway({
  config: {
    models: {
      plain: { context_window: 2000, max_output_tokens: 1000 },
      vectors: { context_window: 2000, capabilities: ['embeddings'], usd_per_million_tokens: { input: 1 } },
      other: {},
    },
    apis: { responses: true, messages: true, embeddings: true },
    limits: { request_body: '64KiB' },
  },
});

beforeAll(async () => {
  const open = async (...args: Parameters<Stack['operator']['customer']>) => {
    const customer = await gateway.stack.operator.customer(...args);
    return { customer, client: gatewayClient(gateway.stack.origin, customer.key) };
  };
  const [good, revoked, address, suspended, scope, model] = await Promise.all([
    open({ credit: '0' }),
    open(),
    open({ key: { ipRanges: ['192.0.2.1'] } }),
    open(),
    open({ scopes: ['usage:read'] }),
    open({ credit: '0', key: { models: ['other'] } }),
  ]);
  await gateway.stack.operator.administration.revokeKey(revoked.customer.keyId, BY);
  await gateway.stack.operator.administration.setSuspended(suspended.customer.organizationId, true, BY);
  clients = {
    good: good.client,
    unknown: gatewayClient(gateway.stack.origin, 'sk-gw-unknown'),
    revoked: revoked.client,
    address: address.client,
    suspended: suspended.client,
    scope: scope.client,
    model: model.client,
  };
});

interface Defective {
  client: keyof typeof clients;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  text?: string;
}

interface Api {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Members of the body that cause a defect. Defects that the API cannot have are absent. */
  readonly defects: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const LONG = 'u'.repeat(70_000);
const ABOVE_WINDOW = 'word '.repeat(3000);
const user = (content: unknown) => [{ role: 'user', content }];

const OF_ALL = { unknown_parameter: { no_such_field: 1 }, missing_model: { model: null } };

const APIS: Readonly<Record<string, Api>> = {
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'plain', messages: user('Hello') },
    defects: {
      ...OF_ALL,
      request_too_large: { user: LONG },
    },
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'plain', input: 'Hello' },
    defects: {
      ...OF_ALL,
      request_too_large: { user: LONG },
      missing_messages: { input: [] },
      invalid_request: { previous_response_id: 'resp_1' },
      json_mode_no_stream: { stream: true, text: { format: { type: 'json_object' } } },
      context_length_exceeded: { input: ABOVE_WINDOW },
    },
  },
  messages: {
    path: '/v1/messages',
    body: { model: 'plain', max_tokens: 10, messages: user('Hello') },
    defects: {
      ...OF_ALL,
      request_too_large: { system: LONG },
      missing_messages: { messages: [] },
      invalid_request: { max_tokens: null },
      json_mode_no_stream: { stream: true, output_config: { format: { type: 'json_schema', schema: {} } } },
      context_length_exceeded: { messages: user(ABOVE_WINDOW) },
    },
  },
  embeddings: {
    path: '/v1/embeddings',
    body: { model: 'vectors', input: 'Hello' },
    defects: {
      ...OF_ALL,
      request_too_large: { user: LONG },
      invalid_request: { dimensions: 0 },
      context_length_exceeded: { input: ABOVE_WINDOW },
    },
  },
};

interface Defect {
  /** Status and code. */
  readonly expected: string;
  /** The key of the API's `defects`. Absent if every API can have the defect. */
  readonly inBody?: string;
  readonly apply: (request: Defective, api: Api) => unknown;
}

const inBody = (status: number, code: string): Defect => ({
  expected: `${status} ${code}`,
  inBody: code,
  apply: ({ body }, { defects }) => Object.assign(body, defects[code]),
});
const byClient = (expected: string, client: keyof typeof clients): Defect => ({
  expected,
  apply: (request) => (request.client = client),
});

/**
 * The order is that of docs/interface.md, "Order of checks". Here each check competes once with all
 * later ones. ext-proc/requests/order-of-refusals.test.ts has every pair of chat. So chat has only
 * those here whose way through Envoy or PostgreSQL differs, and the other APIs only those before
 * and around the translation of their body into one of chat.
 */
const DEFECTS: readonly Defect[] = [
  { expected: '404 route_not_found', apply: (request) => (request.path = request.path.slice(0, -1)) },
  byClient('401 invalid_api_key', 'unknown'),
  byClient('401 key_revoked', 'revoked'),
  byClient('401 ip_not_allowed', 'address'),
  byClient('403 org_suspended', 'suspended'),
  byClient('403 missing_scope', 'scope'),
  inBody(413, 'request_too_large'),
  { expected: '400 invalid_request', apply: (request) => (request.headers['content-encoding'] = 'gzip') },
  { expected: '400 invalid_json', apply: (request) => (request.text = 'break') },
  inBody(400, 'unknown_parameter'),
  inBody(400, 'missing_model'),
  inBody(400, 'missing_messages'),
  inBody(400, 'invalid_request'),
  inBody(400, 'json_mode_no_stream'),
  { expected: '404 model_not_found', apply: ({ body }) => (body.model = 'no-such-model') },
  byClient('403 model_not_allowed', 'model'),
  inBody(400, 'context_length_exceeded'),
];

/** Applies the last defect first, so that an earlier one overwrites what both change. */
function applied(api: Api, defects: readonly Defect[]): Defective {
  const request: Defective = {
    client: 'good',
    path: api.path,
    headers: { 'content-type': 'application/json' },
    body: { ...api.body },
  };
  for (const { apply } of defects.toReversed()) apply(request, api);
  return request;
}

function send(request: Defective) {
  const text = JSON.stringify(request.body);
  const body = request.text === undefined ? text : text.slice(0, -1);
  return clients[request.client].send({ path: request.path, headers: request.headers, body });
}

describe.each(Object.entries(APIS))('%s', (_, api) => {
  const defects = DEFECTS.filter(({ inBody: code }) => code === undefined || code in api.defects);

  test.each(defects.map(({ expected }, index) => [expected, index] as const))(
    '%s comes before all checks after it',
    async (expected, index) => {
      expect(outcome(await send(applied(api, defects.slice(index))))).toBe(expected);
      expect(gateway.provider.requests()).toEqual([]);
    },
  );

  test('a request without a defect but without money is 402, the last check', async () => {
    expect(outcome(await send(applied(api, [])))).toBe('402 insufficient_credits');
  });

  test('the same broken bytes get the same response, except for the request id', async () => {
    for (const code of [
      'invalid_api_key',
      'request_too_large',
      'invalid_json',
      'unknown_parameter',
      'model_not_found',
    ]) {
      const broken = applied(
        api,
        DEFECTS.filter(({ expected }) => expected.endsWith(` ${code}`)),
      );
      const answers = await Promise.all(Array.from({ length: 20 }, () => send(broken)));
      const texts = answers.map(
        ({ status, text, headers }) => `${status} ${text.replace(String(headers['x-request-id']), '')}`,
      );
      expect(new Set(texts).size).toBe(1);
      expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(20);
    }
  });
});
