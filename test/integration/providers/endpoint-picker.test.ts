import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../harness/deployment.ts';
import { outcome } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { plainAnswer } from '../../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';
import { createGate } from '../../provider/gate.ts';

/**
 * A picker of the Gateway API Inference Extension receives headers and body in Envoy's ext_proc
 * protocol, and responds with an endpoint. This one follows the extension's documents.
 */
type Script = (call: grpc.ServerDuplexStream<Asked, object>, body: Buffer) => void;

interface Asked {
  readonly request_headers?: { headers: { headers: { key: string; raw_value: Buffer }[] } };
  readonly request_body?: { body?: Buffer; end_of_stream?: boolean };
}

const bodies: Buffer[] = [];
const headersSeen: string[] = [];
let ended = 0;
let script: Script;

const picks =
  (endpoint: string): Script =>
  (call, body) => {
    const header = { key: 'x-gateway-destination-endpoint', raw_value: Buffer.from(endpoint) };
    const others = { header: { key: 'content-length', raw_value: Buffer.from(String(body.length)) } };
    call.write({ request_headers: { response: { header_mutation: { set_headers: [others, { header }] } } } });
    call.write({ request_body: { response: { body_mutation: { streamed_response: { body, end_of_stream: true } } } } });
  };

const picker = new grpc.Server();
// Adds a message that pickers send and the gateway's own service does not.
const proto = readFileSync(join(REPOSITORY, 'proto/ext_proc.proto'), 'utf8').replace(
  'BodyResponse request_body = 3;',
  'BodyResponse request_body = 3; ImmediateResponse immediate_response = 7;',
);
const folder = mkdtempSync(join(tmpdir(), 'gw-picker-'));
const file = join(folder, 'picker.proto');
writeFileSync(
  file,
  `${proto}message ImmediateResponse { HttpStatus status = 1; }\nmessage HttpStatus { int32 code = 1; }\n`,
);
const definition = loadSync(file, { keepCase: true });
rmSync(folder, { recursive: true });
picker.addService(definition['envoy.service.ext_proc.v3.ExternalProcessor'] as grpc.ServiceDefinition, {
  Process: (call: grpc.ServerDuplexStream<Asked, object>) => {
    const pieces: Buffer[] = [];
    call.on('data', ({ request_headers: head, request_body: body }: Asked) => {
      headersSeen.push(...(head?.headers.headers ?? []).map(({ key, raw_value }) => `${key}: ${raw_value.toString()}`));
      if (body?.body) pieces.push(body.body);
      if (!body?.end_of_stream) return;
      bodies.push(Buffer.concat(pieces));
      script(call, Buffer.concat(pieces));
    });
    call.on('error', () => {});
    call.on('end', () => {
      ended += 1;
      call.end();
    });
  },
});

const servers: FakeProvider[] = [];
const gateway = withGateway(async () => {
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    picker.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  for (let i = 0; i < 3; i++) servers.push(await startFakeProvider());
  const endpoints = servers.slice(0, 2).map(({ baseUrl }) => baseUrl);
  return {
    config: {
      providers: { own: { endpoints, endpoint_picker: `grpc://127.0.0.1:${port}` } },
      models: { m: {} },
    },
  };
});
afterAll(async () => {
  picker.forceShutdown();
  await Promise.all(servers.map((server) => server.close()));
});

const at = (index: number) => `127.0.0.1:${servers[index]?.port}`;
const asked = () => servers.map((server) => server.requests('m').length);

async function send(count: number, stream = false): Promise<{ outcomes: Set<string>; more: number[] }> {
  const client = await gateway.openClient();
  const before = asked();
  const outcomes = new Set<string>();
  for (let i = 0; i < count; i++) outcomes.add(outcome(await client.chat({ model: 'm', stream })));
  return { outcomes, more: asked().map((now, index) => now - (before[index] ?? 0)) };
}

test.each([0, 1])('a request goes to endpoint %i, which the picker chose by its body', async (index) => {
  script = picks(at(index));
  const { outcomes, more } = await send(10, index === 1);
  expect(outcomes).toEqual(new Set(['200']));
  expect(more[index]).toBe(10);
  expect(JSON.parse(bodies.at(-1)?.toString() ?? '')).toMatchObject({ model: 'm', messages: [{ content: 'Hello' }] });
  expect(headersSeen).toContain(':path: /v1/chat/completions');
  expect(headersSeen.join('\n')).not.toContain('provider-secret');
});

test('the picker is told when the response ends, and a dead first choice is replaced by the second', async () => {
  script = picks(`${at(2)},${at(0)}`);
  const gate = createGate();
  for (const server of servers) server.script('m', gate.before(plainAnswer));
  await expect.poll(() => ended).toBe(bodies.length);
  const before = ended;
  const sending = send(1);
  await gate.waitFor(1);
  expect([bodies.length, ended]).toEqual([before + 1, before]);
  gate.open();
  expect((await sending).outcomes).toEqual(new Set(['200']));
  await expect.poll(() => ended).toBe(before + 1);
  for (const server of servers) server.script('m', plainAnswer);
});

test.each(['unlisted', 'nonsense'])('the picker cannot choose another address: %s', async (what) => {
  script = picks(what === 'unlisted' ? at(2) : what);
  const { outcomes, more } = await send(20);
  expect(outcomes).toEqual(new Set(['200']));
  expect(more[2]).toBe(0);
  expect(Math.min(more[0] ?? 0, more[1] ?? 0)).toBeGreaterThan(0);
});

test('a refusal of the picker is no_capacity, and no endpoint is called', async () => {
  script = (call) => void call.write({ immediate_response: { status: { code: 429 } } });
  const { outcomes, more } = await send(2);
  expect(outcomes).toEqual(new Set(['503 no_capacity']));
  expect(more).toEqual([0, 0, 0]);
});

test('if the picker does not respond within a second, Envoy chooses', async () => {
  script = () => {};
  const first = performance.now();
  expect((await send(1)).outcomes).toEqual(new Set(['200']));
  expect(performance.now() - first).toBeGreaterThan(900);
  picker.forceShutdown();
  const { outcomes, more } = await send(20);
  expect(outcomes).toEqual(new Set(['200']));
  expect(Math.min(more[0] ?? 0, more[1] ?? 0)).toBeGreaterThan(0);
  const unavailable = { provider: 'own', result: 'unavailable' };
  expect(await metric(gateway.stack.metricsOrigin, 'gateway_endpoint_picks_total', unavailable)).toBe(21);
  await expect.poll(() => gateway.stack.logs().match(/an endpoint picker fails/g)).toHaveLength(1);
});
