import { expect, test } from 'vitest';
import { acceptedChat } from '#test/fixtures/chat-request.ts';
import type { ReasoningMember } from './called-messages.ts';

const calls = (id: string) => [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }];
const called = (id: string, more: object = {}) => ({ role: 'assistant', tool_calls: calls(id), ...more });
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'seen' });
const says = (role: string) => ({ role, content: 'x' });

/** Index and tool calls of the messages whose reasoning is looked for. */
function lacking(member: ReasoningMember, messages: readonly object[]): readonly (readonly [number, unknown])[] {
  return acceptedChat({ model: 'm', messages })
    .calledMessages(new Set([member]))
    .map(({ message, toolCalls }) => [message, JSON.parse(toolCalls.toString())] as const);
}

const indexes = (...given: Parameters<typeof lacking>) => lacking(...given).map(([message]) => message);

test('details are needed since the user’s last message, content in every message', () => {
  const messages = [says('user'), called('1'), result('1'), says('user'), called('2'), result('2'), says('system')];
  expect(lacking('reasoning_details', messages)).toEqual([[4, calls('2')]]);
  expect(lacking('reasoning_content', messages)).toEqual([
    [1, calls('1')],
    [4, calls('2')],
  ]);
  expect(indexes('reasoning_details', [...messages, called('3'), result('3')])).toEqual([4, 7]);
  expect(indexes('reasoning_details', [...messages, says('user')])).toEqual([]);
});

test('messages without calls, or with their reasoning, lack nothing', () => {
  const details = [{ type: 'reasoning.text', text: 'x' }];
  const messages = [
    says('user'),
    says('assistant'),
    called('1', { reasoning_details: details }),
    called('2', { reasoning_details: [] }),
    called('3', { reasoning_details: null, reasoning_content: 'because' }),
    { ...says('assistant'), tool_calls: null },
    { ...says('assistant'), tool_calls: [] },
    called('4', { reasoning_content: '' }),
    called('5', { reasoning_content: null, reasoning_details: details }),
    called('6', { reasoning_content: 7 }),
    { ...called('7'), role: 'user', content: 'x' },
    called('8', { reasoning_details: details, reasoning_content: ' ' }),
    called('9'),
  ];
  expect(indexes('reasoning_details', messages.slice(0, 10))).toEqual([3, 4, 7, 9]);
  expect(indexes('reasoning_content', messages)).toEqual([2, 3, 7, 8, 12]);
});

test('calls lack their extra content in every message if none has it', () => {
  const signed = calls('2').map((call) => ({ ...call, extra_content: { google: { thought_signature: 's' } } }));
  const unsigned = calls('3').map((call) => ({ ...call, extra_content: null }));
  const messages = [
    called('1', { reasoning_details: [{ type: 'reasoning.text' }], reasoning_content: 'x' }),
    called('2', { tool_calls: [...calls('1'), ...signed] }),
    says('user'),
    called('3', { tool_calls: unsigned }),
  ];
  expect(indexes('extra_content', messages)).toEqual([0, 3]);
});

test('details lack their beginning if the first is not at the first place', () => {
  const at = (...places: unknown[]) => ({ reasoning_details: places.map((index) => ({ type: 'x', index })) });
  const places = [[2], [1, 0], [0, 2], ['1'], [undefined]];
  const messages = [says('user'), ...places.map((each, call) => called(`${call}`, at(...each)))];
  const found = acceptedChat({ model: 'm', messages }).calledMessages(new Set(['reasoning_details'] as const));
  expect(found.map(({ message, details }) => [message, JSON.parse(String(details))])).toEqual([
    [1, at(2).reasoning_details],
    [2, at(1, 0).reasoning_details],
  ]);
});

test('only the newest messages of a long conversation are looked up', () => {
  const loop = Array.from({ length: 600 }, (_, at) => called(`${at}`));
  const newest = Array.from({ length: 512 }, (_, at) => 89 + at);
  expect(indexes('reasoning_details', [says('user'), ...loop])).toEqual(newest);
  expect(indexes('reasoning_content', [says('user'), ...loop])).toEqual(newest);
});

test('messages that lack one or both members are returned once', () => {
  const messages = [says('user'), called('1'), says('user'), called('2'), called('3', { reasoning_content: 'x' })];
  const found = acceptedChat({ model: 'm', messages }).calledMessages(
    new Set(['reasoning_details', 'reasoning_content'] as const),
  );
  expect(found.map(({ message, lacks }) => [message, lacks])).toEqual([
    [1, ['reasoning_content']],
    [3, ['reasoning_details', 'reasoning_content']],
    [4, ['reasoning_details']],
  ]);
});
