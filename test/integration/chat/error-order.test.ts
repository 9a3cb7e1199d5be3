import { beforeAll, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { BY } from '../../harness/operator.ts';
import type { Stack } from '../../harness/stack.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/** Clients by what is wrong with their key; `good` has every right but little money. */
let clients: Record<'good' | 'unknown' | 'revoked' | 'address' | 'suspended' | 'scope' | 'model', GatewayClient>;

const gateway = withGateway({
  config: {
    models: { plain: { context_window: 2000, max_output_tokens: 1000 }, other: {} },
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

/**
 * In the order of docs/interface.md, "Order of checks". ext-proc/requests/order-of-refusals.test.ts
 * has every pair of what is pure; here each check meets all later ones once.
 */
const DEFECTS: ReadonlyArray<{ code: string; apply: (request: Defective) => void }> = [
  { code: '404 route_not_found', apply: (request) => (request.path = '/v1/chat/completion') },
  { code: '401 invalid_api_key', apply: (request) => (request.client = 'unknown') },
  { code: '401 key_revoked', apply: (request) => (request.client = 'revoked') },
  { code: '401 ip_not_allowed', apply: (request) => (request.client = 'address') },
  { code: '403 org_suspended', apply: (request) => (request.client = 'suspended') },
  { code: '403 missing_scope', apply: (request) => (request.client = 'scope') },
  { code: '413 request_too_large', apply: (request) => (request.body.user = 'u'.repeat(70_000)) },
  { code: '400 invalid_request', apply: (request) => (request.headers['content-encoding'] = 'gzip') },
  { code: '400 invalid_json', apply: (request) => (request.text = 'break') },
  { code: '400 unknown_parameter', apply: (request) => (request.body.no_such_field = 1) },
  { code: '400 missing_model', apply: (request) => (request.body.model = null) },
  { code: '400 missing_messages', apply: (request) => (request.body.messages = []) },
  { code: '400 invalid_request', apply: (request) => (request.body.temperature = 9) },
  { code: '400 n_not_allowed', apply: (request) => (request.body.n = 2) },
  {
    code: '400 json_mode_no_stream',
    apply: (request) => Object.assign(request.body, { stream: true, response_format: { type: 'json_object' } }),
  },
  { code: '404 model_not_found', apply: (request) => (request.body.model &&= 'no-such-model') },
  { code: '403 model_not_allowed', apply: (request) => (request.client = 'model') },
  { code: '400 tools_not_supported', apply: (request) => (request.body.tools = TOOLS) },
  { code: '400 reasoning_effort_not_supported', apply: (request) => (request.body.reasoning_effort = 'low') },
  { code: '400 max_tokens_exceeds_cap', apply: (request) => (request.body.max_tokens = 1500) },
];

const TOOLS = [{ type: 'function', function: { name: 'f', parameters: {} } }];

/** These change who asks, so only one of them can be in a request. */
const BY_CLIENT = /key|address|ip_|org_|scope|model_not_allowed/;

function applied(indexes: readonly number[]): Defective {
  const request: Defective = {
    client: 'good',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: { model: 'plain', messages: [{ role: 'user', content: 'Hello' }] },
  };
  for (const index of indexes) DEFECTS[index]?.apply(request);
  return request;
}

function send(request: Defective) {
  const text = JSON.stringify(request.body);
  const body = request.text === undefined ? text : text.slice(0, -1);
  return clients[request.client].send({ path: request.path, headers: request.headers, body });
}

const isByClient = (index: number) => BY_CLIENT.test(DEFECTS[index]?.code ?? '');

test.each(DEFECTS.map(({ code }, index) => [code, index] as const))(
  '%s comes before all checks after it',
  async (code, index) => {
    const fromHere = Array.from(DEFECTS.keys()).slice(index);
    const client = fromHere.find(isByClient);
    const chosen = fromHere.filter((each) => each === client || !isByClient(each));
    expect(outcome(await send(applied(chosen)))).toBe(code);
    expect(gateway.provider.requests()).toEqual([]);
  },
);

test('without a defect but without money it is 402, the last of all', async () => {
  expect(outcome(await send(applied([])))).toBe('402 insufficient_credits');
});

test('the same broken bytes get the same answer, but for the request id', async () => {
  for (const list of [[9, 12], [6], [8], [13, 18], [1]]) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(applied(list))));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(20);
  }
});
