import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { inputItems } from './input-items.ts';

const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } };
const called = (id: string, name: string, input: string) => ({
  ...{ id, type: 'function', function: { name, arguments: input } },
});

describe('messages as input items', () => {
  test('of a conversation with images, files and a tool', () => {
    const png = 'data:image/png;base64,iVBORw0KGgo=';
    const pdf = 'data:application/pdf;base64,JVBERi0=';
    const items = inputItems([
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Use tools.', ...BREAKPOINT }] },
      {
        role: 'user',
        name: 'alice',
        content: [
          { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral' } },
          { type: 'image_url', image_url: { url: png, detail: 'high' } },
          { type: 'image_url', image_url: png, ...BREAKPOINT },
          { type: 'file', file: { file_data: pdf, filename: 'a.pdf' } },
          { type: 'file', file: { file_data: pdf } },
        ],
      },
      { role: 'assistant', content: 'I look.', tool_calls: [called('call_1', 'look', '{"at":1}')] },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'A cat.' }] },
      { role: 'user', content: 'Thanks.' },
    ]);
    expect(items).toEqual([
      { type: 'message', role: 'system', content: 'Be brief.' },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Use tools.', ...BREAKPOINT }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: png, detail: 'high' },
          { type: 'input_image', image_url: png, detail: 'auto', ...BREAKPOINT },
          { type: 'input_file', file_data: pdf, filename: 'a.pdf' },
          { type: 'input_file', file_data: pdf, filename: 'document.pdf' },
        ],
      },
      { type: 'message', role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'A cat.' }] },
      { type: 'message', role: 'user', content: 'Thanks.' },
    ]);
  });

  test('have the result of a custom tool, and of a function in the deprecated form', () => {
    const items = inputItems([
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'call_1', type: 'custom', custom: { name: 'shell', input: 'ls' } },
          called('call_2', 'f', '{}'),
        ],
      },
      { role: 'tool', tool_call_id: 'call_2', content: 'two' },
      { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      { role: 'assistant', content: null, function_call: { name: 'g', arguments: '{}' } },
      { role: 'function', name: 'g', content: 'three' },
    ]);
    expect(items).toEqual([
      { type: 'custom_tool_call', call_id: 'call_1', name: 'shell', input: 'ls' },
      { type: 'function_call', call_id: 'call_2', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_2', output: 'two' },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: 'one' },
      { type: 'function_call', call_id: 'function_call_1', name: 'g', arguments: '{}' },
      { type: 'function_call_output', call_id: 'function_call_1', output: 'three' },
    ]);
  });

  test('shorten an id that OpenAI would refuse, in the call and in its result', () => {
    const long = 'x'.repeat(65);
    const items = inputItems([
      { role: 'assistant', tool_calls: [called(long, 'f', '')] },
      { role: 'tool', tool_call_id: long, content: '' },
    ]);
    expect(items[0]?.call_id).toMatch(/^[0-9a-f]{64}$/);
    expect(items[1]?.call_id).toBe(items[0]?.call_id);
  });

  const said = (text: string) => ({ type: 'output_text', text, annotations: [] });
  const REFUSAL = { type: 'refusal', refusal: 'No.' };
  const HI = { type: 'text', text: 'Hi' };

  test.each<[string, JsonObject, JsonObject[]]>([
    ['text', { content: 'Hi' }, [{ content: 'Hi' }]],
    ['no text', { content: '' }, []],
    ['nothing', { content: null }, []],
    ['parts', { content: [HI] }, [{ content: [said('Hi')] }]],
    ['a refusal', { content: null, refusal: 'No.' }, [{ content: [REFUSAL] }]],
    ['text and a refusal', { content: 'Hi', refusal: 'No.' }, [{ content: [said('Hi'), REFUSAL] }]],
    ['parts of both', { content: [REFUSAL, HI] }, [{ content: [REFUSAL, said('Hi')] }]],
    ['a phase', { content: 'Hi', phase: 'commentary' }, [{ content: 'Hi', phase: 'commentary' }]],
    ['a phase that is none', { content: 'Hi', phase: 'x' }, [{ content: 'Hi' }]],
    ['thoughts of another API', { content: 'Hi', reasoning_content: 'Hm.' }, [{ content: 'Hi' }]],
  ])('of an assistant with %s', (_, message, expected) => {
    const head = { type: 'message', role: 'assistant' };
    expect(inputItems([{ role: 'assistant', ...message }])).toEqual(expected.map((item) => ({ ...head, ...item })));
  });
});
