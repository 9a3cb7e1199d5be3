import { describe, expect, it } from 'vitest';
import { acceptedChat, readBody, verdictOf } from '#test/fixtures/chat-request.ts';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const HELLO = { role: 'user', content: 'Hello' };
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };

const read = (...messages: unknown[]) => readBody({ model: 'm', messages });
const verdict = (...messages: unknown[]) => verdictOf(read(...messages));

const user = (...content: unknown[]) => ({ role: 'user', content });
const assistant = (...tool_calls: unknown[]) => ({ role: 'assistant', tool_calls });
const text = (words: string) => ({ type: 'text', text: words });
const plainImage = (image_url: unknown) => user({ type: 'image_url', image_url });
const image = (url: unknown, more: object = {}) => plainImage({ url, ...more });

describe('messages that SDKs send', () => {
  it.each<[string, readonly unknown[]]>([
    ['a system and a user message', [{ role: 'system', content: 'Be brief.' }, HELLO]],
    ['a developer message with a name', [{ role: 'developer', content: 'Be brief.', name: 'boss' }, HELLO]],
    ['an empty text', [{ role: 'user', content: '' }]],
    ['parts', [user(text('What is this?'), { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } })]],
    ['a part whose type comes last', [user({ text: 'x', type: 'text' })]],
    ['system text in parts', [{ role: 'system', content: [{ ...text('x'), cache_control: { type: 'ephemeral' } }] }]],
    ['no parts', [user()]],
    ['tool calls without content', [HELLO, assistant(CALL), { role: 'tool', tool_call_id: 'call_1', content: '3' }]],
    ['tool calls with content null', [{ ...assistant(CALL, CALL), content: null }]],
    [
      'an answer of an SDK, handed back',
      [
        {
          ...{ role: 'assistant', content: 'Hi', refusal: null, annotations: [], audio: null },
          ...{ tool_calls: null, function_call: null },
        },
      ],
    ],
    ['an empty answer', [{ role: 'assistant', content: null }, { role: 'assistant' }]],
    [
      'an empty answer with empty members',
      [{ role: 'assistant', content: null, tool_calls: [], reasoning_content: null }],
    ],
    ['a refusal', [{ role: 'assistant', content: null, refusal: 'No.' }]],
    ['a refusal as part', [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }]],
    [
      'a function call of old',
      [
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } },
        { role: 'function', name: 'f', content: '1' },
      ],
    ],
    ['reasoning and nothing else', [{ role: 'assistant', content: null, reasoning_content: 'because' }]],
    [
      'a call of a custom tool',
      [
        assistant({ id: 'c', type: 'custom', custom: { name: 'f', input: 'free text' } }),
        { role: 'tool', tool_call_id: 'c', content: '3' },
      ],
    ],
    ['an image as a plain string', [plainImage(PIXEL)]],
    ['tool results in parts', [{ role: 'tool', tool_call_id: 'c', content: [text('3')] }]],
    [
      'reasoning of another provider',
      [{ role: 'assistant', content: 'x', reasoning_content: 'because', reasoning_details: [{ a: [1] }] }],
    ],
  ])('%s', (_, messages) => expect(verdict(...messages)).toBe('ok'));
});

describe('messages that are refused', () => {
  it.each<[string, unknown]>([
    ['messages[1]', 'x'],
    ['messages[1]', null],
    ['messages[1].role', { content: 'x' }],
    ['messages[1].role', { role: 'bot', content: 'x' }],
    ['messages[1].role', { role: 1, content: 'x' }],
    ['messages[1].content', { role: 'user' }],
    ['messages[1].content', { role: 'user', content: null }],
    ['messages[1].content', { role: 'user', content: 1 }],
    ['messages[1].content', { role: 'user', content: {} }],
    ['messages[1].content', { role: 'user', tool_calls: [CALL] }],
    ['messages[1].name', { ...HELLO, name: 1 }],
    ['messages[1].tool_call_id', { role: 'tool', content: 'x' }],
    ['messages[1].tool_call_id', { role: 'tool', content: 'x', tool_call_id: 1 }],
    ['messages[1].refusal', { role: 'assistant', refusal: 1 }],
    ['messages[1].audio', { role: 'assistant', audio: { id: 'audio_stored' } }],
    ['messages[1].audio', { ...HELLO, audio: 'audio_stored' }],
    ['messages[1].tool_calls', { role: 'assistant', tool_calls: {} }],
    ['messages[1].tool_calls[0]', assistant('x')],
    ['messages[1].tool_calls[1].id', assistant(CALL, { ...CALL, id: undefined })],
    ['messages[1].tool_calls[0].id', assistant({ ...CALL, id: 1 })],
    ['messages[1].tool_calls[0].type', assistant({ ...CALL, type: 'web_search' })],
    ['messages[1].tool_calls[0].custom', assistant({ ...CALL, type: 'custom' })],
    [
      'messages[1].tool_calls[0].custom.input',
      assistant({ id: 'c', type: 'custom', custom: { name: 'f', arguments: '' } }),
    ],
    ['messages[1].content', { role: 'user', content: null, reasoning_content: 'x' }],
    ['messages[1].tool_calls[0].type', assistant({ ...CALL, type: undefined })],
    ['messages[1].tool_calls[0].function', assistant({ ...CALL, function: undefined })],
    ['messages[1].tool_calls[0].function.name', assistant({ ...CALL, function: { arguments: '' } })],
    ['messages[1].tool_calls[0].function.arguments', assistant({ ...CALL, function: { name: 'f', arguments: {} } })],
    ['messages[1].function_call.arguments', { role: 'assistant', function_call: { name: 'f' } }],
    ['messages[1].content[0]', user('x')],
    ['messages[1].content[0].type', user({ text: 'x' })],
    ['messages[1].content[1].type', user(text('x'), { type: 'input_audio', input_audio: {} })],
    ['messages[1].content[0].type', user({ type: 'video_url', video_url: { url: PIXEL } })],
    ['messages[1].content[0].text', user({ type: 'text' })],
    ['messages[1].content[0].text', user({ type: 'text', text: null })],
    ['messages[1].content[0].image_url', user({ type: 'image_url' })],
    ['messages[1].content[0].image_url', plainImage('a.png')],
    ['messages[1].content[0].image_url', plainImage(1)],
    ['messages[1].content[0].image_url.url', image(undefined)],
    ['messages[1].content[0].image_url.url', image(1)],
    ['messages[1].content[0].image_url', image('file:///etc/passwd')],
    ['messages[1].content[0].image_url', image('')],
    ['messages[1].content[0].image_url', image('data:image/png,abc')],
    ['messages[1].content[0].image_url', image('data:text/html;base64,QUJD')],
  ])('%s', (param, message) => expect(verdict(HELLO, message)).toBe(`invalid_request ${param}`));
});

describe('images', () => {
  it('are recognized, with the place of the first remote one', () => {
    expect(read(image(PIXEL))).toMatchObject({ hasImages: true, hasRemoteImages: false });
    const remote = image('HTTPS://example.test/a.png');
    expect(read(HELLO, image(PIXEL), remote, remote)).toMatchObject({
      hasImages: true,
      hasRemoteImages: true,
      remoteImageParam: 'messages[2].content[0].image_url',
    });
  });

  it('may be plain strings', () => {
    expect(read(plainImage(PIXEL))).toMatchObject({ hasImages: true, hasMedia: true, hasRemoteImages: false });
    expect(read(image(PIXEL), plainImage('https://example.test/a.png'))).toMatchObject({
      remoteImageParam: 'messages[1].content[0].image_url',
    });
  });

  it('that are remote are refused only after fields of a wrong type', () => {
    expect(verdict(image('http://example.test/a.png'), { role: 'user', content: 1 })).toBe(
      'invalid_request messages[1].content',
    );
  });
});

describe('promptText', () => {
  it('has all text of the prompt, unescaped, and no images', () => {
    const promptText = acceptedChat({
      model: 'm',
      messages: [
        { role: 'system', content: 'line\none "é" 😀' },
        { ...user(text('two'), { type: 'image_url', image_url: { url: PIXEL } }), name: 'ada' },
        { ...assistant(CALL), content: null },
        { role: 'tool', tool_call_id: 'call_1', content: 'three' },
      ],
      tools: [{ type: 'function', function: { name: 'lookup', description: 'finds' } }],
    })
      .promptText()
      .join();
    for (const piece of ['line\none "é" 😀', 'ada', 'two', 'f', '{"a":1}', 'three', 'lookup', 'finds'])
      expect(promptText).toContain(piece);
    expect(promptText).not.toContain('base64');
    expect(promptText).not.toContain('iVBOR');
  });
});
