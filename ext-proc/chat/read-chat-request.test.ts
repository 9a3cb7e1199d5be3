import { describe, expect, it } from 'vitest';
import { envelopeOf, isRefusal } from '#core/errors/refusal.ts';
import { acceptedChat, readBody, readChatRequest, verdictOf } from '#test/fixtures/chat-request.ts';

const HELLO = [{ role: 'user', content: 'Hello' }];

const bodyWith = (fields: object) => ({ model: 'm', messages: HELLO, ...fields });
const accepted = (fields: object = {}) => acceptedChat(bodyWith(fields));
const verdict = (body: string | object) => verdictOf(readBody(body));
const verdictOn = (fields: object) => verdict(bodyWith(fields));
/** Of a body with this text behind its first members. */
const verdictOnText = (text: string) => verdict(`{"model":"m","messages":[{"role":"user","content":"x"}],${text}}`);

describe('the body as a whole', () => {
  it('is refused if it is compressed, with any content', () => {
    const coded = (coding: string) => verdictOf(readChatRequest(Buffer.from(JSON.stringify(bodyWith({}))), coding));
    for (const coding of ['gzip', 'br', 'identity, gzip', 'x'])
      expect(coded(coding)).toBe('invalid_request content-encoding');
    for (const coding of ['identity', 'IDENTITY', '', ' identity , identity']) expect(coded(coding)).toBe('ok');
    expect(verdictOf(readChatRequest(Buffer.from(''), 'gzip'))).toBe('invalid_request content-encoding');
  });

  it.each([
    ['input', /Unknown parameter: input: this is a Responses body; set the client to chat completions/],
    ['reasoning', /Unknown parameter: reasoning; send reasoning\.effort as reasoning_effort\.$/],
    ['max_output_tokens', /send max_completion_tokens\.$/],
    ['system', /as a message with the role system\.$/],
    ['zeta', /^Unknown parameter: zeta\.$/],
  ])('is refused with advice what to send instead of %s', (field, message) => {
    const refusal = readBody(bodyWith({ [field]: 'x' }));
    expect(isRefusal(refusal) && envelopeOf(refusal).error.message).toMatch(message);
  });

  it('is refused for the first unknown field, by first occurrence', () => {
    expect(verdict('{"zeta":1,"alpha":2,"zeta":3}')).toBe('unknown_parameter zeta');
    expect(verdict('{"model":"m","\\u0061b":null}')).toBe('unknown_parameter ab');
    expect(verdict('{"__proto__":{"model":"m"}}')).toBe('unknown_parameter __proto__');
    expect(verdict('{"Model":"m"}')).toBe('unknown_parameter Model');
    expect(verdict(`{"${'x'.repeat(1000)}":1}`)).toBe(`unknown_parameter ${'x'.repeat(128)}`);
  });

  it('must have a model and at least one message', () => {
    for (const model of [null, '', 1, {}, ['m']]) expect(verdict({ model, messages: HELLO })).toBe('missing_model');
    for (const messages of [null, '', 'x', {}, [], 1])
      expect(verdict({ model: 'm', messages })).toBe('missing_messages');
    const lacking = readBody({ model: 'm' });
    expect(isRefusal(lacking) && envelopeOf(lacking).error.message).toBe(
      'The field messages is required and must be an array with at least one message.',
    );
  });

  it('has only the last value of a repeated field', () => {
    expect(verdictOnText('"n":"bad","n":2')).toBe('ok');
    expect(verdictOnText('"n":2,"n":"bad"')).toBe('invalid_request n');
    expect(verdict('{"model":"m","model":null,"messages":[]}')).toBe('missing_model');
    const last = '"model":"b","messages":[{"role":"user","content":"x"}],"stream":true,"stream":null';
    const result = readBody(`{"model":"a",${last}}`);
    expect(result).toMatchObject({ model: 'b', stream: false });
  });
});

describe('the facts of a request', () => {
  it('have defaults', () => {
    expect(accepted()).toMatchObject({
      ...{ model: 'm', stream: false, includeUsage: false, completions: 1 },
      ...{ jsonFormat: false, hasTools: false, hasImages: false, hasRemoteImages: false },
    });
    expect(accepted()).not.toHaveProperty('maxTokens');
    expect(accepted()).not.toHaveProperty('reasoningEffort');
  });

  it('treat null as absent', () => {
    const nulls = [
      ...['max_tokens', 'n', 'stream', 'stream_options', 'response_format', 'reasoning_effort'],
      ...['tools', 'stop', 'seed', 'logit_bias', 'user'],
    ];
    expect(accepted(Object.fromEntries(nulls.map((name) => [name, null])))).toMatchObject({
      completions: 1,
      stream: false,
    });
  });

  it('are read from its fields', () => {
    expect(accepted({ stream: true, stream_options: { include_usage: true }, n: 3, max_tokens: 5 })).toMatchObject({
      ...{ stream: true, includeUsage: true, completions: 3 },
      ...{ maxTokens: 5, maxTokensParam: 'max_tokens' },
    });
    const ofCompletion = { maxTokens: 7, maxTokensParam: 'max_completion_tokens' };
    expect(accepted({ max_completion_tokens: 7 })).toMatchObject(ofCompletion);
    expect(accepted({ reasoning_effort: 'high' })).toMatchObject({ reasoningEffort: 'high' });
    const schema = { type: 'json_schema', json_schema: { name: 's', schema: {} } };
    const formats = [{ type: 'text' }, { type: 'json_object' }, schema];
    expect(formats.map((response_format) => accepted({ response_format }).jsonFormat)).toEqual([false, true, true]);
    expect(accepted({ tools: [] }).hasTools).toBe(false);
    expect(accepted({ tools: [{ type: 'function', function: { name: 'f' } }] }).hasTools).toBe(true);
  });
});

describe('types and ranges of fields', () => {
  const good: Record<string, readonly unknown[]> = {
    max_tokens: [1, 1e9, 2],
    max_completion_tokens: [1],
    n: [1, 128],
    stream: [true, false],
    stream_options: [{}, { include_usage: false }, { include_usage: null, include_obfuscation: 1 }],
    temperature: [0, 2, 0.7],
    top_p: [0, 1],
    presence_penalty: [-2, 2],
    frequency_penalty: [-2, 2],
    top_logprobs: [0, 20],
    logprobs: [true],
    parallel_tool_calls: [false],
    seed: [0, -1, 1e20],
    stop: ['x', '', [], ['a', 'b', 'c', 'd'], ['😀'.repeat(8192)]],
    logit_bias: [{}, { 50256: -100, 1: 100 }],
    user: ['u', '', 'é'.repeat(512), '😀'.repeat(512)],
    safety_identifier: ['u', '\n'.repeat(512)],
    prompt_cache_key: ['u', '😀'.repeat(512)],
    verbosity: ['low'],
    reasoning_effort: ['low'],
    tool_choice: [
      'none',
      'auto',
      'required',
      { type: 'function', function: { name: 'f' } },
      { type: 'custom', custom: { name: 'f' } },
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
    ],
    response_format: [
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 's', strict: null } },
    ],
    tools: [
      [],
      [{ type: 'function', function: { name: 'f', description: null, parameters: null, strict: true, x: 1 }, y: 2 }],
      [{ type: 'custom', custom: { name: 'f', description: 'd', format: { type: 'grammar', grammar: {} } } }],
    ],
  };
  const bad: Record<string, readonly unknown[]> = {
    max_tokens: [0, -1, 1.5, '5', true, []],
    max_completion_tokens: [0, '1'],
    n: [0, 129, 1.5, '1', true],
    stream: [1, 'true', {}],
    stream_options: [true, [], 'x'],
    temperature: [-0.1, 2.1, '1', [], {}],
    top_p: [-0.1, 1.1, true],
    presence_penalty: [-2.1, 2.1],
    frequency_penalty: [3, '0'],
    top_logprobs: [-1, 21, 0.5],
    logprobs: [1, 'yes'],
    parallel_tool_calls: ['no', 0],
    seed: [1.5, '1'],
    stop: [1, {}, [1], ['a', 'b', 'c', 'd', 'e'], ['a', null], 'x'.repeat(8193), ['a', '😀'.repeat(8193)]],
    logit_bias: [[], 'x', { 1: '1' }, { 1: 101 }],
    user: [1, {}, [], 'x'.repeat(10_000), 'é'.repeat(513), '😀'.repeat(513)],
    safety_identifier: [1, '\n'.repeat(513)],
    prompt_cache_key: [false, '😀'.repeat(513)],
    verbosity: [1, 'x'.repeat(65)],
    reasoning_effort: [1, [], 'x'.repeat(65)],
    tool_choice: ['maybe', 1, []],
    response_format: ['json', []],
    tools: [{}, 'x', 1],
  };

  it.each(Object.entries(good))('%s accepts good values', (name, values) => {
    for (const value of values) expect([value, verdictOn({ [name]: value })]).toEqual([value, 'ok']);
  });

  it.each(Object.entries(bad))('%s refuses bad values with its name', (name, values) => {
    for (const value of values)
      expect([value, verdictOn({ [name]: value })]).toEqual([value, `invalid_request ${name}`]);
  });

  it('has a good and a bad value for every optional field', () => {
    expect(Object.keys(bad)).toEqual(Object.keys(good));
  });

  const tool = (members: object) => ({ tools: [{ type: 'function', ...members }] });
  const named = (members: object) => tool({ function: { name: 'f', ...members } });

  it.each([
    ['stream_options.include_usage', { stream_options: { include_usage: 1 } }],
    ['max_completion_tokens', { max_tokens: 1, max_completion_tokens: 1 }],
    ['tools[0]', { tools: [1] }],
    ['tools[0].type', { tools: [{}] }],
    ['tools[1].type', { tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }] }],
    ['tools[0].custom', { tools: [{ type: 'custom', function: { name: 'f' } }] }],
    ['tools[0].custom.name', { tools: [{ type: 'custom', custom: {} }] }],
    ['tools[0].custom.Name', { tools: [{ type: 'custom', custom: { name: 'f', Name: 'g' } }] }],
    ['tools[0].function', tool({})],
    ['tools[0].function', tool({ function: 'f' })],
    ['tools[0].function.name', tool({ function: {} })],
    ['tools[0].function.name', named({ name: '' })],
    ['tools[0].function.parameters', named({ parameters: 'x' })],
    ['tools[0].function.description', named({ description: 1 })],
    ['tools[0].function.strict', named({ strict: 1 })],
    ['tool_choice.type', { tool_choice: {} }],
    ['tool_choice.custom', { tool_choice: { type: 'custom' } }],
    ['tool_choice.custom.name', { tool_choice: { type: 'custom', custom: {} } }],
    ['tool_choice.function', { tool_choice: { type: 'function' } }],
    ['tool_choice.function.name', { tool_choice: { type: 'function', function: {} } }],
    ['tool_choice.allowed_tools', { tool_choice: { type: 'allowed_tools' } }],
    ['response_format.type', { response_format: {} }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
    ['response_format.json_schema.name', { response_format: { type: 'json_schema', json_schema: {} } }],
    [
      'response_format.json_schema.schema',
      { response_format: { type: 'json_schema', json_schema: { name: 's', schema: [] } } },
    ],
  ])('names %s', (param, fields) => expect(verdictOn(fields)).toBe(`invalid_request ${param}`));

  it('accepts numbers by their value, in any notation', () => {
    expect(verdictOnText('"n":1.0,"max_tokens":1e2,"temperature":-0')).toBe('ok');
    expect(verdictOnText('"max_tokens":1e300')).toBe('ok');
    expect(verdictOnText('"n":1e-1')).toBe('invalid_request n');
  });
});
