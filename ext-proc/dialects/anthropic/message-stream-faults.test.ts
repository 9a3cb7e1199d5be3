import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { FAILURES } from '../../delivery/provider/provider-failure.ts';
import { meaningOf } from '../../delivery/response/stream-event.ts';
import { expectError, testCutConnection, testHostileEvents, verdictOn } from '../dialect-checks.fixture.ts';
import { gather } from '../responses/gathered-stream.fixture.ts';
import { ANTHROPIC } from './anthropic.ts';
import { CUT_BY_LIMIT, INTERLEAVED, PARALLEL_CALLS, TEXT } from './scenarios.fixture.ts';
import { scripted, translated } from './scripted-stream.fixture.ts';

const BEGUN = scripted(TEXT).slice(0, 6);

describe('an error', () => {
  test.each<[string, object, object]>([
    [
      'event',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' }, request_id: 'req_1' },
      { type: 'overloaded_error', message: 'Overloaded', status: 529 },
    ],
    ['event that says nothing', { type: 'error' }, { type: 'api_error', message: 'The request failed.' }],
    ['in chat’s form', { error: { message: 'No.', code: 503 } }, { code: 503, message: 'No.' }],
  ])('%s ends the stream', (_, event, error) => {
    expectError(ANTHROPIC, scripted(TEXT).slice(0, 6), event, error);
  });

  test.each<[type: string, message: string, expected: object]>([
    ['api_error', 'Internal server error', { code: 'upstream_error', retry: 'same' }],
    ['overloaded_error', 'Overloaded', { code: 'no_capacity', retry: 'same' }],
    ['rate_limit_error', 'Too many.', { code: 'no_capacity', retry: 'same' }],
    ['billing_error', 'Pay.', { code: 'no_capacity', retry: 'next', account: 'funds' }],
    ['authentication_error', 'invalid x-api-key', { code: 'upstream_config_error', account: 'credentials' }],
    ['invalid_request_error', 'prompt is too long: 3 tokens > 2 maximum', { code: 'context_length_exceeded' }],
    ['invalid_request_error', 'Output blocked by content filtering policy', { code: 'invalid_request' }],
    ['something_new', 'Hm.', { code: 'upstream_error', retry: 'same' }],
  ])('of the type %s (%s) is classified by its status', (type, message, expected) => {
    const events = translated([...BEGUN, { type: 'error', error: { type, message } }]);
    expect(verdictOn(events)).toMatchObject({ kind: 'failure', result: 'error_body', ...expected });
  });
});

describe('a stream', () => {
  const take = (events: readonly object[]) => gather(translated(events));
  const [start, ...rest] = scripted(TEXT);

  test('without a count of its output has no usage: the guess at its beginning does not count', () => {
    const events = scripted(TEXT).filter(({ type }) => type !== 'message_delta');
    expect(take(events)).toMatchObject({ finishReason: 'stop', usage: undefined, isDone: true });
  });

  test('that counts its input only at the end has its whole usage', () => {
    const bare = start?.type === 'message_start' ? { ...start, message: { ...start.message, usage: {} } } : {};
    expect(take([bare, ...rest]).usage).toEqual({
      ...{ prompt_tokens: 2400, completion_tokens: 52, total_tokens: 2452 },
      prompt_tokens_details: { cached_tokens: 2000, cache_write_tokens: 300 },
      completion_tokens_details: { reasoning_tokens: 32 },
    });
  });

  test('that counts several times has the last counts, and those that were not repeated', () => {
    const counted = (usage: object) => ({ type: 'message_delta', delta: {}, usage });
    const gathered = take([
      ...scripted(CUT_BY_LIMIT).slice(0, -1),
      counted({ output_tokens: 60, cache_read_input_tokens: null }),
      counted({ output_tokens: 70, input_tokens: 150 }),
      { type: 'message_stop' },
    ]);
    expect(gathered).toMatchObject({
      usage: { prompt_tokens: 2450, completion_tokens: 70, total_tokens: 2520 },
      finishReason: 'length',
    });
  });

  test('has nothing after its end', () => {
    const translator = ANTHROPIC.stream();
    const all = scripted(TEXT).flatMap((event) => translator.take(event.type, JSON.stringify(event)));
    expect(all.at(-1)).toBe('[DONE]');
    for (const event of scripted(TEXT)) expect(translator.take(event.type, JSON.stringify(event))).toEqual([]);
    expect(translator.take('', '[DONE]')).toEqual([]);
  });

  test('with alternating calls has all of them', () => {
    const events = scripted(PARALLEL_CALLS);
    const of = (index: number) => events.filter((event) => 'index' in event && event.index === index);
    const [first, second] = [of(2), of(3)];
    const mixed = first.flatMap((event, at) => [event, ...second.slice(at, at + 1)]);
    const inTurn = [...events.slice(0, events.indexOf(first[0] as never)), ...mixed, ...second.slice(first.length)];
    const end = events.slice(-2);
    expect(take([...inTurn, ...end]).message).toEqual(take(events).message);
  });

  test('may have thinking without deltas', () => {
    const block = { type: 'thinking', thinking: 'Hm.', signature: 'sig' };
    const begun = { type: 'content_block_start', index: 0, content_block: block };
    expect(take([begun, { type: 'content_block_stop', index: 0 }]).message).toMatchObject({
      ...{ reasoning_content: 'Hm.', reasoning_details: [{ text: 'Hm.', signature: 'sig' }] },
    });
  });

  test('may have more thinking than the bound, in several blocks', () => {
    const delta = { type: 'thinking_delta', thinking: 'x'.repeat(1024 * 1024) };
    const events = Array.from({ length: 9 }, (_, index) => [
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]);
    expect(take([...events.flat(), { type: 'message_stop' }])).toMatchObject({ error: undefined, isDone: true });
  });

  test('may have the input of a call without deltas', () => {
    const input = { city: 'Paris' };
    const block = { type: 'tool_use', id: 'toolu_1', name: 'f', input };
    const events = [
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'Hi' } },
    ];
    expect(take(events).message).toMatchObject({
      content: 'Hi',
      tool_calls: [{ id: 'toolu_1', function: { name: 'f', arguments: JSON.stringify(input) } }],
    });
  });
});

testCutConnection(ANTHROPIC, scripted(INTERLEAVED));

describe('input that is not a stream of Messages', () => {
  test('is left to the readers of chat streams if it is not a JSON object', () => {
    for (const data of ['{"type":"content_block_del', '[1]', 'oops']) {
      expect(ANTHROPIC.stream().take('content_block_delta', data)).toEqual([data]);
      expect(meaningOf({ type: '', data })).toBe(FAILURES.malformed);
    }
    const translator = ANTHROPIC.stream();
    const events = scripted(TEXT).slice(0, 5);
    for (const { type } of events) translator.take(type, JSON.stringify(events.find((event) => event.type === type)));
    const learnt = JSON.stringify(events.at(-1)).slice(0, -1);
    expect(translator.take('', `${learnt}]`)).toEqual([`${learnt}]`]);
    for (const data of ['', ' ', '[DONE]']) expect(ANTHROPIC.stream().take('', data)).toEqual([]);
  });

  test('with too many open blocks ends with an error', () => {
    const translator = ANTHROPIC.stream();
    const errors: string[] = [];
    for (let index = 0; index < 1000; index++) {
      const begun = { type: 'content_block_start', index, content_block: { type: 'text', text: '' } };
      errors.push(...translator.take('', JSON.stringify(begun)));
    }
    expect(errors).toHaveLength(1);
    expect(verdictOn(errors)).toMatchObject({ kind: 'failure', result: 'error_body' });
  });

  test.each([
    ['learnt', 0],
    ['parsed', 1],
  ])('with too much thinking ends with an error, in events that are %s', (_, step) => {
    const translator = ANTHROPIC.stream();
    const thinking = 'x'.repeat(64 * 1024);
    const out: string[] = [];
    for (let at = 0; at < 100; at++) {
      const delta = { type: 'thinking_delta', thinking };
      out.push(...translator.take('', JSON.stringify({ type: 'content_block_delta', index: 0, delta, at: at * step })));
    }
    expect(out.length).toBe(66);
    expect(verdictOn(out)).toMatchObject({ kind: 'failure', result: 'error_body' });
  });

  test('may be nested as deeply as a body', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    const call = `{"type":"tool_use","id":"toolu_1","name":"f","input":{"x":${deep}},"x":${deep}}`;
    const head = `"usage":{"input_tokens":${deep},"output_tokens":1},"stop_details":${deep},"id":${deep}`;
    const whole = `{"content":[${call},{"type":"thinking","thinking":"x","signature":${deep}},${deep}],${head}}`;
    expect(() => JSON.stringify(ANTHROPIC.response(parseObject(whole) ?? {}))).not.toThrow();
    const events = [
      `{"type":"message_start","message":{${head}}}`,
      `{"type":"content_block_start","index":${deep},"content_block":${call}}`,
      `{"type":"content_block_delta","delta":{"type":"signature_delta","signature":${deep}}}`,
      `{"type":"message_delta","delta":{"stop_reason":${deep}},"usage":{"output_tokens":${deep}}}`,
      '{"type":"message_stop"}',
    ];
    const translator = ANTHROPIC.stream();
    expect(events.flatMap((data) => translator.take('', data)).at(-1)).toBe('[DONE]');
    const error = `{"type":"error","error":{"type":${deep},"message":${deep},"details":${deep},"param":${deep}}}`;
    expect(ANTHROPIC.stream().take('', error)).toHaveLength(1);
    const { error: body } = ANTHROPIC.error(parseObject(error)) as { error: object };
    expect(body).toMatchObject({ type: 'api_error', message: 'The request failed.', code: null, param: null });
  });

  testHostileEvents(
    ANTHROPIC,
    [
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta'],
      ...['content_block_delta', 'message_stop', 'error'],
    ],
    [
      ...['type', 'index', 'delta', 'content_block', 'message', 'usage', 'text', 'thinking', 'partial_json'],
      ...['signature', 'data', 'id', 'name', 'input', 'stop_reason', 'stop_details', 'explanation', 'error'],
    ],
    [
      ...['text', 'thinking', 'tool_use', 'redacted_thinking', 'text_delta', 'input_json_delta'],
      ...['thinking_delta', 'signature_delta'],
    ],
  );
});
