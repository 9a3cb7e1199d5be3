import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { gather } from '#ext-proc/dialects/responses/gathered-stream.fixture.ts';
import { providerBlocks } from '#scripts/catalogue/provider-blocks.ts';
import { errorOf, eventsOf, type GatewayClient, jsonOf, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { raw, rawAnswer } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';
import { type BlockTarget, blockTargets, gatewayOfBlocks } from './block-targets.ts';
import { ODDITIES, type Oddity } from './oddities.ts';
import { RECORDED_CLOUDS } from './recorded-clouds.ts';
import { RECORDED_OPEN_MODELS } from './recorded-open-models.ts';
import { RECORDED_OPENAI } from './recorded-openai.ts';
import type { RecordedError, RecordedProvider } from './recorded-provider.ts';

/**
 * The blocks of docs/providers.md with providers that respond and refuse like the recorded ones.
 */
const RECORDED = [...RECORDED_OPENAI, ...RECORDED_CLOUDS, ...RECORDED_OPEN_MODELS];
const TARGETS = blockTargets(providerBlocks());

const gateway = withGateway((provider) => gatewayOfBlocks(TARGETS, `http://127.0.0.1:${provider.port}`));
let client: GatewayClient;

beforeAll(async () => {
  client = await gateway.openClient();
});

const TOOLS = [
  {
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
];

/** A request with every official field that the model accepts, and every extra one. */
function requestWithAll({ id, capabilities, efforts, extraFields }: BlockTarget): JsonObject {
  const effort = efforts.find((one) => one !== 'none');
  const extra: JsonObject = {
    ...{ thinking: { type: 'enabled' }, top_k: 20, min_p: 0.1, repetition_penalty: 1.1 },
    chat_template_kwargs: { enable_thinking: false },
  };
  return {
    model: id,
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'How is the weather in Paris?' },
    ],
    ...{ max_completion_tokens: 2000, n: 1, temperature: 0.5, top_p: 0.9, stop: ['END'], seed: 7, store: false },
    ...{ presence_penalty: 0.1, frequency_penalty: 0.1, logit_bias: { 50256: -100 }, logprobs: true, top_logprobs: 2 },
    ...{ user: 'alice', safety_identifier: 'alice', prompt_cache_key: 'weather', verbosity: 'low' },
    ...{ metadata: { team: 'a' }, service_tier: 'auto', modalities: ['text'] },
    prediction: { type: 'content', content: 'Sunny.' },
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(capabilities.includes('tools') ? { tools: TOOLS, tool_choice: 'auto', parallel_tool_calls: true } : {}),
    ...(capabilities.includes('json_mode') ? { response_format: { type: 'json_object' } } : {}),
    ...Object.fromEntries(extraFields.map((name) => [name, extra[name]])),
  };
}

function inStream(request: JsonObject): JsonObject {
  const { response_format: _, ...others } = request;
  return { ...others, stream: true, stream_options: { include_usage: true } };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const written = ({ status, body }: RecordedError): Act => rawAnswer(status, JSON_TYPE, JSON.stringify(body));

/** Runs `act` for a request that the provider would accept, and refuses others as it does. */
function unlessRefused({ refuses, refusesRoles = [], refusal }: RecordedProvider, act: Act): Act {
  return (call) => {
    const body = call.seen.json ?? {};
    const isRefused = (name: string) => ('allBut' in refuses ? !refuses.allBut.includes(name) : refuses.includes(name));
    const roles = Array.isArray(body.messages) ? body.messages.map(({ role }) => role) : [];
    const refused = Object.keys(body).find(isRefused) ?? roles.find((role) => refusesRoles.includes(role));
    return (refused === undefined ? act : written(refusal(refused)))(call);
  };
}

function recordedOf(target: BlockTarget): RecordedProvider {
  const found = RECORDED.find(({ providers }) => providers.includes(target.provider));
  if (found === undefined) throw new Error(`no recorded answers of ${target.provider}`);
  return found;
}

describe.each(TARGETS)('$id', (target) => {
  const recorded = recordedOf(target);
  const { expected } = recorded;
  const usage = { ...expected.usage, cost: expected.costUsd[target.model] };

  const lastCall = () => {
    const call = gateway.provider.requests(target.providerModel).at(-1);
    if (call === undefined) throw new Error('no call');
    return call;
  };

  test('is sent only fields that it knows, and its response is charged exactly', async () => {
    gateway.provider.script(
      target.providerModel,
      unlessRefused(recorded, rawAnswer(200, JSON_TYPE, JSON.stringify(recorded.json))),
    );
    const response = await client.chat(requestWithAll(target));
    expect(response.text).not.toContain('"error"');
    const { path, headers, json } = lastCall();
    expect(path).toBe(`${target.path}${expected.query ?? ''}`);
    expect(headers).toMatchObject(expected.headers);
    const { model: _model, messages: _messages, input: _input, ...members } = json ?? {};
    expect(Object.keys(members).sort()).toEqual([...expected.sent].sort());
    expect(members).toMatchObject(expected.values ?? {});
    const { choices, usage: charged, ...others } = jsonOf<Completion>(response);
    expect(choices).toHaveLength(1);
    expect(choices[0]).toMatchObject({ message: expected.message, finish_reason: expected.finishReason });
    expect(charged).toMatchObject(usage);
    expect(others).toMatchObject({ id: expect.stringMatching(/^gen-/), model: target.id });
    expect(response.text).not.toContain('ticks');
  });

  test('has the same response in a stream', async () => {
    gateway.provider.script(target.providerModel, unlessRefused(recorded, raw(recorded.stream)));
    const events = eventsOf(await client.chat(inStream(requestWithAll(target))));
    const gathered = gather(events);
    expect(gathered).toMatchObject({ isDone: true, error: undefined, finishReason: expected.finishReason });
    expect(Object.keys(lastCall().json ?? {})).toContain('stream');
    expect(gathered.message).toMatchObject(expected.message);
    expect(gathered.usage).toMatchObject(usage);
    const chunks = events.slice(0, -1).map((data) => JSON.parse(data) as JsonObject);
    expect(chunks.filter((chunk) => isObject(chunk.usage))).toHaveLength(1);
    expect(chunks.filter((chunk) => JSON.stringify(chunk.choices).includes('"usage"'))).toEqual([]);
    for (const chunk of chunks) expect(chunk).toMatchObject({ id: chunks[0]?.id, model: target.id });
    expect(events.join('')).not.toContain('"finish_reason":""');
    const isPadded = recorded.stream.includes('"obfuscation":"x9K"');
    expect(events.join().includes('"obfuscation":"x9K"')).toBe(isPadded);
  });

  test('has errors that are translated to common codes', async () => {
    gateway.provider.script(target.providerModel, written(recorded.error));
    const refused = await client.chat({ model: target.id });
    const [named, words] = expected.error;
    expect(outcome(refused)).toBe(named);
    expect(errorOf(refused).message).toMatch(words);
  });
});

interface Completion {
  readonly choices: readonly object[];
  readonly usage: object;
}

describe.each(Object.entries<Oddity>(ODDITIES))('the oddity %s', (name, { by, fields = [], sources, test: shown }) => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');

  test('is reproduced by a recorded provider or a test', () => {
    const showing = RECORDED.filter(({ shows }) => shows.some((one) => one === name));
    if (shown === undefined) expect(showing).not.toEqual([]);
    else expect(read(shown[0])).toContain(shown[1]);
  });

  test('is handled by existing code or fields', () => {
    for (const [file, symbol] of by) expect(read(file), file).toMatch(new RegExp(`(?<![\\w$])${symbol}(?![\\w$])`));
    const schema = read('config/gateway.schema.json');
    const unknown = fields.flatMap((path) => path.split('.')).filter((field) => !schema.includes(`"${field}": {`));
    expect(unknown).toEqual([]);
    for (const source of sources) expect(source).toMatch(/^https:\/\//);
  });
});
