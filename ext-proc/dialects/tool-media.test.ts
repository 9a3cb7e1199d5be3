import { describe, expect, it } from 'vitest';
import { hasToolMedia, withoutToolMedia } from './tool-media.ts';

const image = (name: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${name}` } });
const text = (words: string) => ({ type: 'text', text: words });
const result = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content });
const user = (content: unknown) => ({ role: 'user', content });

describe('images in tool results', () => {
  it('move before the text of the next user message, or into one that is added, in order', () => {
    const messages = [
      user('look'),
      result('a', [text('one'), image('AA'), image('AB')]),
      result('b', 'words'),
      result('c', [image('CA')]),
      user('well?'),
      result('d', [image('DA')]),
      { role: 'assistant', content: 'so' },
      result('e', [{ ...text('one'), cache_control: {} }, image('EA')]),
    ];
    expect(withoutToolMedia({ model: 'm', messages })).toEqual({
      model: 'm',
      messages: [
        user('look'),
        result('a', 'one'),
        result('b', 'words'),
        result('c', '(see below)'),
        user([image('AA'), image('AB'), image('CA'), text('well?')]),
        result('d', '(see below)'),
        user([image('DA')]),
        { role: 'assistant', content: 'so' },
        result('e', [{ ...text('one'), cache_control: {} }]),
        user([image('EA')]),
      ],
    });
  });

  it('move together with files, and nothing else changes', () => {
    const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,AA' } };
    const messages = [user([image('U')]), result('a', [file]), { role: 'assistant', content: [text('a')] }];
    expect(withoutToolMedia({ messages })).toEqual({
      messages: [messages[0], result('a', '(see below)'), user([file]), messages[2]],
    });
    const plain = [user([image('U')]), result('a', [text('x')])];
    expect(withoutToolMedia({ messages: plain })).toEqual({ messages: plain });
    expect([messages, plain].map((of) => hasToolMedia({ messages: of }))).toEqual([true, false]);
  });
});
