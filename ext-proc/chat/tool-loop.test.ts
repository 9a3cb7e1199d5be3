import { expect, test } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';

const calls = (id: string) => [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }];
const called = (id: string, more: object = {}) => ({ role: 'assistant', tool_calls: calls(id), ...more });
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'seen' });
const says = (role: string) => ({ role, content: 'x' });

/** Index and tool calls of the messages whose reasoning is looked for. */
function loopIn(messages: readonly object[]): readonly (readonly [number, unknown])[] {
  const chat = readChatRequest(Buffer.from(JSON.stringify({ model: 'm', messages })), undefined);
  if (isRefusal(chat)) throw new Error(chat.code);
  return chat.calledMessages().map(({ message, toolCalls }) => [message, JSON.parse(toolCalls.toString())] as const);
}

test('the loop of a request begins after the last message of the user', () => {
  const messages = [says('user'), called('1'), result('1'), says('user'), called('2'), result('2'), says('system')];
  expect(loopIn(messages)).toEqual([[4, calls('2')]]);
  expect(loopIn([...messages, called('3'), result('3')]).map(([message]) => message)).toEqual([4, 7]);
  expect(loopIn([...messages, says('user')])).toEqual([]);
});

test('messages without calls, and those that bring their reasoning, are not in it', () => {
  const details = [{ type: 'reasoning.text', text: 'x' }];
  const messages = [
    says('user'),
    says('assistant'),
    called('1', { reasoning_details: details }),
    called('2', { reasoning_details: [] }),
    called('3', { reasoning_details: null }),
    { ...says('assistant'), tool_calls: null },
  ];
  expect(loopIn(messages).map(([message]) => message)).toEqual([3, 4]);
});

test('the newest messages of a long loop are in it', () => {
  const loop = Array.from({ length: 200 }, (_, at) => called(`${at}`));
  expect(loopIn([says('user'), ...loop]).map(([message]) => message)).toEqual(
    Array.from({ length: 128 }, (_, at) => 73 + at),
  );
});
