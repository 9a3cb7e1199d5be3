import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { asCompletion } from '../../dialects/completion.ts';
import { readResponse } from './read-response.ts';
import { ChunkRepairs, repairWhole } from './repairs.ts';

function completionOf(text: string) {
  const completion = asCompletion(parseObject(text) ?? {});
  if (completion === undefined) throw new Error('no completion');
  return completion;
}

/** Repairs of a stream whose choices had their roles. */
function begun(choices: readonly object[]): ChunkRepairs {
  const repairs = new ChunkRepairs('gen-1');
  const role = { delta: { role: 'assistant' }, finish_reason: null };
  repairs.repair('{}', { choices: choices.map((choice, at) => ({ index: at, ...choice, ...role })) });
  return repairs;
}

/** The chunks of one stream, repaired, as a client parses them. */
function repaired(...chunks: readonly object[]) {
  const repairs = begun(chunks);
  const choices = chunks.map((choice) => {
    const text = JSON.stringify({ id: 'c', choices: [choice] });
    const result = repairs.repair(text, completionOf(text));
    expect(JSON.parse(result.text)).toEqual(result.completion);
    return result.completion.choices[0];
  });
  return { repairs, choices };
}

const delta = (...calls: readonly object[]) => ({ index: 0, delta: { tool_calls: calls }, finish_reason: null });
const call = (id: string | undefined, name: string | undefined, args: unknown, more: object = {}) => ({
  ...more,
  ...(id === undefined ? {} : { id }),
  ...(id === undefined && name === undefined ? {} : { type: 'function' }),
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

function indexes(...deltas: readonly object[]): unknown[] {
  return repaired(...deltas).choices.map((choice) =>
    (choice as { delta: { tool_calls: { index?: unknown }[] } }).delta.tool_calls.map(({ index }) => index),
  );
}

describe('a tool call without index', () => {
  test('gets one: a new id or name begins a call, other deltas continue it', () => {
    expect(
      indexes(delta(call('a', 'f', '')), delta(call(undefined, undefined, '{')), delta(call('a', 'f', '}'))),
    ).toEqual([[0], [0], [0]]);
    expect(indexes(delta(call('a', 'f', '{}'), call('b', 'f', '{}')), delta(call('c', 'g', '{}')))).toEqual([
      [0, 1],
      [2],
    ]);
    expect(indexes(delta(call('', 'f', '{}')), delta(call('', 'g', '{}')))).toEqual([[0], [1]]);
    expect(
      indexes(
        delta(call('a', 'f', '')),
        delta(call('b', 'g', '')),
        delta(call('a', undefined, 'x')),
        delta(call(undefined, undefined, 'y')),
      ),
    ).toEqual([[0], [1], [0], [0]]);
  });

  test('gets one after those that have one, and null counts as none', () => {
    expect(indexes(delta(call('a', 'f', '{}', { index: 3 })), delta(call('b', 'f', '{}', { index: null })))).toEqual([
      [0],
      [1],
    ]);
  });

  test('is counted separately in each choice', () => {
    const other = { ...delta(call('b', 'f', '{}')), index: 1 };
    expect(indexes(delta(call('a', 'f', '{}')), other)).toEqual([[0], [0]]);
  });
});

describe('a tool call', () => {
  test('is unchanged if it is well-formed', () => {
    const repairs = begun([{ index: 0 }]);
    const begins = '{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}';
    for (const call of [begins, '{"index":0,"id":null,"function":{"name":null,"arguments":"1.0"}}']) {
      const text = `{"choices":[{"index":0,"delta":{"tool_calls":[${call}]},"logprobs":1.0}]}`;
      const completion = completionOf(text);
      const repaired = repairs.repair(text, completion);
      expect(repaired.text).toBe(text);
      expect(repaired.completion).toBe(completion);
    }
  });

  test('has name and id once, wherever the provider sends them', () => {
    const { choices } = repaired(
      delta(call('a', '', '{', { index: 0, extra_content: 'x' })),
      delta(call('', 'f', '"a"', { index: 0 })),
      delta(call('a', 'f', ':1', { index: 0, type: 'function' })),
      delta(call('other', undefined, '}', { index: 0 })),
    );
    expect(choices).toEqual([
      { ...delta(), delta: {} },
      delta(call('a', 'f', '{"a"', { index: 0, extra_content: 'x' })),
      delta(call(undefined, undefined, ':1', { index: 0 })),
      delta(call(undefined, undefined, '}', { index: 0 })),
    ]);
  });

  test('begins with type, id and text, whatever the provider leaves out or has as null', () => {
    const [named, custom] = [{ name: 'f', arguments: null }, { name: 'g' }];
    const later = { type: null, function: { arguments: null } };
    const { choices } = repaired(
      delta({ index: 0, function: named }, { index: 1, id: '', type: '', custom }),
      delta({ index: 0, id: 'late', ...later }, { index: 1, custom: { input: 'x' } }),
    );
    expect(choices).toEqual([
      delta(
        { index: 0, id: 'call_gen-1_0', type: 'function', function: { name: 'f', arguments: '' } },
        { index: 1, id: 'call_gen-1_1', type: 'custom', custom: { name: 'g', input: '' } },
      ),
      delta({ index: 0, function: { arguments: '' } }, { index: 1, custom: { input: 'x' } }),
    ]);
  });

  test('without a name waits for it until the end, and as long as there is room', () => {
    const nameless = (id: string, args: string, index: number) => delta(call(id, undefined, args, { index }));
    const ended = { index: 0, finish_reason: 'tool_calls' };
    expect(repaired(nameless('a', '{}', 0), ended).choices).toEqual([
      { ...delta(), delta: {} },
      { ...ended, delta: { tool_calls: [call('a', undefined, '{}', { index: 0 })] } },
    ]);
    const long = 'x'.repeat(40_000);
    const { choices } = repaired(nameless('a', long, 0), nameless('b', long, 1), nameless('', long, 0));
    expect(choices).toEqual([{ ...delta(), delta: {} }, nameless('b', long, 0), nameless('a', long + long, 1)]);
  });

  test('without a name does not wait in the chunk that ends its choice, nor after it', () => {
    const last = { ...delta(call('a', undefined, '{}', { index: 0 })), finish_reason: 'tool_calls' };
    const ended = { index: 0, delta: {}, finish_reason: 'tool_calls' };
    const late = delta(call('b', undefined, '{}', { index: 0 }));
    expect(repaired(last).choices).toEqual([last]);
    expect(repaired(ended, late).choices).toEqual([ended, late]);
  });

  test('begins with another name, also if it has the id of the one before', () => {
    const [one, other] = [call('x', 'f', '{"a":1}'), call('x', 'g', '{"b":1}')];
    const expected = [delta({ ...one, index: 0 }), delta({ ...other, index: 1 })];
    expect(repaired(delta(one), delta(other)).choices).toEqual(expected);
    expect(repaired(delta({ ...one, index: 0 }), delta({ ...other, index: 0 })).choices).toEqual(expected);
  });

  test('without a name has all members of its deltas once it begins', () => {
    const waiting = [{ index: 0, a: 1 }, call('x', undefined, '{', { index: 0, b: 1 }), { index: 0, id: 'y', a: 2 }];
    const whole = call('x', 'f', '{}', { index: 0, a: 2, b: 1, c: 1 });
    expect(repaired(delta(...waiting, call('', 'f', '}', { index: 0, c: 1 }))).choices).toEqual([delta(whole)]);
  });

  test('of a choice beyond those that can be requested is unchanged', () => {
    const many = Array.from({ length: 200 }, (_, index) => ({ ...delta(call('a', 'f', '{}', { index: 3 })), index }));
    const indexesOfCalls = repaired(...many).choices.map((choice) => (choice as ReturnType<typeof delta>).delta);
    expect(indexesOfCalls.slice(0, 128)).toEqual(Array(128).fill(delta(call('a', 'f', '{}', { index: 0 })).delta));
    expect(indexesOfCalls.at(-1)).toEqual(many.at(-1)?.delta);
  });
});

test.each(['assistant', '', null, undefined, 'model'])('the role %j of each delta is that of the first', (role) => {
  const repairs = new ChunkRepairs('gen-1');
  const rolesOf = (...indexes: readonly number[]) => {
    const given = indexes.map((index) => ({ index, delta: { role, content: 'x' }, finish_reason: null }));
    const text = JSON.stringify({ choices: given });
    const { choices } = JSON.parse(repairs.repair(text, completionOf(text)).text) as { choices: typeof given };
    return choices.map(({ delta }) => delta.role ?? undefined);
  };
  expect([rolesOf(0), rolesOf(0, 1), rolesOf(1)]).toEqual([['assistant'], [undefined, 'assistant'], [undefined]]);
});

test('the message of a whole response has its role', () => {
  const choice = (message: object) => ({ index: 0, message, finish_reason: 'stop' });
  const spoken = choice({ role: 'assistant', content: 'x' });
  for (const message of [{ content: 'x' }, { role: '', content: 'x' }])
    expect(repairWhole({ choices: [choice(message)] }, 'gen-1').choices).toEqual([spoken]);
});

test('an empty finish reason of a chunk is null, and the reason at the end follows from the calls', () => {
  const { repairs, choices } = repaired(
    { index: 0, delta: { content: 'x' }, finish_reason: '' },
    { ...delta(call('a', 'f', '')), index: 1 },
  );
  expect(choices[0]).toEqual({ index: 0, delta: { content: 'x' }, finish_reason: null });
  expect([repairs.reasonFor(0), repairs.reasonFor(1)]).toEqual(['stop', 'tool_calls']);
});

test('a choice of a chunk without an index has that of its place', () => {
  const content = { delta: { content: 'x' }, finish_reason: null };
  const ended = { delta: {}, finish_reason: 'stop' };
  expect(repaired(content, { index: null, ...ended }).choices).toEqual([
    { index: 0, ...content },
    { index: 0, ...ended },
  ]);
  const text = JSON.stringify({ choices: [content, ended] });
  const { completion } = begun([content, ended]).repair(text, completionOf(text));
  expect(completion.choices).toEqual([
    { index: 0, ...content },
    { index: 1, ...ended },
  ]);
});

test('each choice of a whole response has a finish reason', () => {
  const message = { role: 'assistant', content: 'x' };
  const withCalls = { role: 'assistant', tool_calls: [{ id: 'a', type: 'function' }] };
  const given = [
    { index: 0, message, finish_reason: '' },
    { index: 1, message: withCalls, finish_reason: null },
    { index: 2, message: withCalls },
    { index: 3, message, finish_reason: 'length' },
  ];
  const reasons = ['stop', 'tool_calls', 'tool_calls', 'length'];
  const { choices } = repairWhole({ id: 'c', choices: given }, 'gen-1');
  expect(choices).toEqual(given.map((choice, at) => ({ ...choice, finish_reason: reasons[at] })));
  const whole = { id: 'c', choices };
  expect(repairWhole(whole, 'gen-1')).toBe(whole);
});

test('a call in a whole response has id, type and text', () => {
  const repairedCalls = (...tool_calls: readonly object[]) => {
    const choice = { index: 0, message: { role: 'assistant', tool_calls }, finish_reason: 'tool_calls' };
    const { choices } = repairWhole({ choices: [choice] }, 'gen-1');
    return (choices as [typeof choice])[0].message.tool_calls;
  };
  expect(repairedCalls(call('a', 'f', { city: 'Paris' }))).toEqual([call('a', 'f', '{"city":"Paris"}')]);
  expect(repairedCalls(call('a', 'f', null), { custom: { name: 'g', input: null } })).toEqual([
    call('a', 'f', '{}'),
    { id: 'call_gen-1_1', type: 'custom', custom: { name: 'g', input: '' } },
  ]);
  expect(repairedCalls({ function: { name: 'f' } })).toEqual([call('call_gen-1_0', 'f', '{}')]);
});

test('the text for the client has the finish reasons, and nothing else changes', () => {
  const text = (reason: string) => `"big":12345678901234567890,"choices":[{"index":0,"finish_reason":"${reason}"}]`;
  const read = readResponse(`{"id":"c",${text('')}}`, { generationId: 'g', model: 'm', api: 'chat' });
  expect(read).toMatchObject({ open: `{"id":"g",${text('stop')},"model":"m"` });
});
