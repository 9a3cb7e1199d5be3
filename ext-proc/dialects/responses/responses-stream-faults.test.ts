import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { FAILURES } from '../../delivery/provider/provider-failure.ts';
import { meaningOf } from '../../delivery/response/stream-event.ts';
import { expectError, testCutConnection, testHostileEvents, verdictOn } from '../dialect-checks.fixture.ts';
import { gather } from './gathered-stream.fixture.ts';
import { RESPONSES } from './responses.ts';
import { FAILED, message, PARALLEL_CALLS, responseWith, TEXT } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

const BEGUN = scripted(TEXT).slice(0, 6);

describe('an error', () => {
  test.each<[string, object, object]>([
    [
      'of a failed response',
      { type: 'response.failed', sequence_number: 9, response: FAILED },
      { code: 'rate_limit_exceeded', message: FAILED.error?.message, param: null },
    ],
    [
      'of a failed response that does not say why',
      { type: 'response.failed', response: { id: 'resp_1', status: 'failed', error: null } },
      { code: 'server_error', message: 'The response ended with the status failed.' },
    ],
    [
      'event as documented',
      { type: 'error', code: 'server_error', message: 'Sorry.', param: null, sequence_number: 1 },
      { code: 'server_error', message: 'Sorry.', type: 'server_error' },
    ],
    [
      'event as OpenAI sends it',
      {
        type: 'error',
        sequence_number: 2,
        error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded…', param: null },
      },
      { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded…' },
    ],
    ['in chat’s form', { error: { message: 'No.', code: 503 } }, { code: 503, message: 'No.' }],
  ])('%s ends the stream', (_, event, error) => {
    expectError(RESPONSES, scripted(TEXT).slice(0, 6), event, error);
  });

  test.each<[code: string, expected: object]>([
    ['server_error', { code: 'upstream_error', retry: 'same' }],
    ['rate_limit_exceeded', { code: 'no_capacity', retry: 'same' }],
    ['insufficient_quota', { code: 'no_capacity', retry: 'next', account: 'funds' }],
    ['invalid_prompt', { code: 'invalid_request', retry: 'none' }],
    ['image_too_large', { code: 'invalid_request', retry: 'none' }],
    ['context_length_exceeded', { code: 'context_length_exceeded', retry: 'none' }],
    ['something_new', { code: 'upstream_error', retry: 'same' }],
  ])('of the code %s is classified by its status', (code, expected) => {
    const failed = responseWith([], { status: 'failed' });
    const events = translated([
      { type: 'response.failed', response: { ...failed, error: { code, message: 'It went wrong.' } } },
    ]);
    expect(verdictOn(events)).toMatchObject({ kind: 'failure', result: 'error_body', ...expected });
  });
});

describe('other servers than OpenAI', () => {
  test('send no event that begins the response', () => {
    const [, , ...rest] = scripted(TEXT);
    expect(rest.map(({ type }) => type)).not.toContain('response.in_progress');
    const created = translated(rest.slice(0, -1)).map((data) => parseObject(data)?.created);
    expect(new Set(created).size).toBe(1);
    expect(created[0]).toBeGreaterThan(1_700_000_000);
  });

  test('send no output_index (llama.cpp)', () => {
    const events = scripted(PARALLEL_CALLS).map((event) => {
      const { output_index: _, content_index: __, ...rest } = event as unknown as Record<string, unknown>;
      return rest;
    });
    expect(gather(translated(events)).message).toEqual(gather(translated(scripted(PARALLEL_CALLS))).message);
  });

  test('send another item id in each event', () => {
    let count = 0;
    const events = scripted(PARALLEL_CALLS).map((event) =>
      'item_id' in event ? { ...event, item_id: `x${++count}` } : event,
    );
    expect(gather(translated(events)).message).toEqual(gather(translated(scripted(PARALLEL_CALLS))).message);
  });

  test('name the response again, or with a very long id', () => {
    const events = scripted(TEXT).map((event, at) =>
      'response' in event ? { ...event, response: { ...event.response, id: `${at}${'x'.repeat(100_000)}` } } : event,
    );
    const chunks = translated(events)
      .slice(0, -1)
      .map((data) => parseObject(data));
    expect(new Set(chunks.map((chunk) => chunk?.id))).toEqual(new Set([`0${'x'.repeat(199)}`]));
  });

  test('send [DONE] after the end, pings and events of their own', () => {
    const translator = RESPONSES.stream();
    const take = (event: object) => translator.take('', JSON.stringify(event));
    expect(translator.take('ping', '')).toEqual([]);
    expect(translator.take('', '[DONE]')).toEqual([]);
    expect(take({ type: 'keepalive' })).toEqual([]);
    expect(take({ type: 'response.something_new', delta: 'x', error: { message: 'of an item' } })).toEqual([]);
    const events = scripted(TEXT).flatMap((event) => take(event));
    expect(events.at(-1)).toBe('[DONE]');
    expect(translator.take('', '[DONE]')).toEqual([]);
    expect(take(BEGUN[5] ?? {})).toEqual([]);
  });

  test('end their response with an empty output', () => {
    const [end] = scripted(responseWith([])).slice(-1);
    const events = translated([...scripted(TEXT).slice(0, -1), ...(end === undefined ? [] : [end])]);
    expect(gather(events)).toMatchObject({ finishReason: 'stop', isDone: true });
    expect(gather(events).message).toEqual(gather(translated(scripted(TEXT))).message);
  });
});

testCutConnection(
  RESPONSES,
  scripted(PARALLEL_CALLS, (text) => [text]),
);

describe('input that is not a stream of Responses', () => {
  test('is left to the readers of chat streams if it is not a JSON object', () => {
    for (const data of ['{"type":"response.output_te', '[1]', 'oops']) {
      expect(RESPONSES.stream().take('response.output_text.delta', data)).toEqual([data]);
      expect(meaningOf({ type: '', data })).toBe(FAILURES.malformed);
    }
  });

  test('with too many items ends with an error', () => {
    const translator = RESPONSES.stream();
    const errors: string[] = [];
    for (let index = 0; index < 10_000; index++) {
      const item = { ...message('x'), id: `msg_${index}` };
      errors.push(
        ...translator.take('', JSON.stringify({ type: 'response.output_item.added', output_index: index, item })),
      );
    }
    expect(errors).toHaveLength(1);
    expect(verdictOn(errors)).toMatchObject({ kind: 'failure', result: 'error_body' });
    const far = { type: 'response.output_text.delta', output_index: 0, content_index: 1e9, delta: 'x' };
    expect(verdictOn([...RESPONSES.stream().take('', JSON.stringify(far))])).toMatchObject({ result: 'error_body' });
  });

  test('may be nested as deeply as a body', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    const item = `{"type":"message","content":[{"type":"output_text","text":"x","logprobs":[{"token":${deep}}]}],"x":${deep}}`;
    const whole = `{"status":"completed","output":[${item},${deep}],"usage":{"input_tokens":${deep}},"error":${deep}}`;
    expect(() => JSON.stringify(RESPONSES.response(parseObject(whole) ?? {}))).not.toThrow();
    const events = [
      `{"type":"response.output_item.done","item":${item}}`,
      `{"type":"response.completed","response":${whole}}`,
    ];
    const translator = RESPONSES.stream();
    expect(events.flatMap((data) => translator.take('', data)).at(-1)).toBe('[DONE]');
    expect(translator.take('', `{"type":"error","message":${deep},"code":${deep}}`)).toEqual([]);
    expect(RESPONSES.stream().take('', `{"type":"error","message":${deep},"code":${deep}}`)).toHaveLength(1);
  });

  const types = [...new Set([...scripted(PARALLEL_CALLS), ...scripted(FAILED)].map(({ type }) => type))];
  testHostileEvents(
    RESPONSES,
    [...types, 'response.output_text.delta', 'error'],
    [
      ...['type', 'item', 'response', 'output', 'delta', 'output_index', 'content_index', 'item_id', 'id', 'summary'],
      ...['content', 'text', 'usage', 'error', 'status', 'name', 'call_id', 'arguments', 'logprobs', 'created_at'],
    ],
    ['message', 'function_call', 'reasoning', 'output_text', 'failed'],
  );
});

test('all texts of calls that wait are counted, and no longer once they are passed on', () => {
  const stream = RESPONSES.stream();
  const call = (type: string, index: number) => {
    const item = { type: 'function_call', call_id: 'i'.repeat(1_000), name: 'n'.repeat(1_000), arguments: '{}' };
    return stream.take(type, JSON.stringify({ type, output_index: index, item }));
  };
  for (const index of [0, 1, 2]) call('response.output_item.added', index);
  for (const index of [1, 2]) expect(call('response.output_item.done', index)).toEqual([]);
  expect(stream.keptCharacters).toBeGreaterThanOrEqual(4_000);
  expect(call('response.output_item.done', 0)).toHaveLength(2);
  expect(stream.keptCharacters).toBe(0);
});

test.each<[string, (long: string, index: number) => object]>([
  ['ids', (id, index) => ({ output_index: index, item: { type: 'message', id } })],
  ['ids of items without a number', (id) => ({ item: { type: 'message', id } })],
  ['phases', (phase, index) => ({ output_index: index, item: { type: 'message', phase } })],
])('long %s are not kept', (_, added) => {
  const heldBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const MIB = 1024 * 1024;
  const stream = RESPONSES.stream();
  const type = 'response.output_item.added';
  const before = heldBytes();
  for (let index = 0; index < 30; index++) {
    stream.take(type, JSON.stringify({ type, ...added(`${index}${'x'.repeat(MIB)}`, index) }));
  }
  expect(heldBytes() - before).toBeLessThan(5 * MIB);
  expect(stream.take(type, '{}')).toEqual([]);
});

test('calls that follow each other are passed on without the ends of their items', () => {
  const stream = RESPONSES.stream();
  const take = (type: string, more: object) => stream.take(type, JSON.stringify({ type, ...more }));
  const chunks = ['first', 'second'].flatMap((name, output_index) => {
    const item = { type: 'function_call', id: `fc_${name}`, call_id: `call_${name}`, name, arguments: '' };
    const at = { output_index, item_id: item.id };
    return [
      ...take('response.output_item.added', { output_index, item }),
      ...take('response.function_call_arguments.delta', { ...at, delta: `"${name}"` }),
      ...take('response.function_call_arguments.done', { ...at, arguments: `"${name}"` }),
    ];
  });
  chunks.push(...take('response.completed', { response: { output: [] } }));
  const text = chunks.join('');
  for (const name of ['first', 'second']) expect(text.split(JSON.stringify(`"${name}"`))).toHaveLength(2);
});
