import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages/messages';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import { ANTHROPIC } from '../../dialects/anthropic/anthropic.ts';
import { arbitraryRequest } from './arbitrary-request.fixture.ts';
import { readMessagesBody } from './read-body.ts';

const SENT = { model: 'm', outputLimit: 100, stream: false, identities: new Map(), isReasoning: true, extraFields: [] };
const EFFORTS = ['low', 'high'];

function read(body: object, reasoningEfforts: readonly string[] = EFFORTS) {
  const result = readMessagesBody({ model: 'm', max_tokens: 100, ...body }, { reasoningEfforts });
  if (result.kind === 'invalid') throw new Error(`${result.param} ${result.requirement}`);
  return result;
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

/** What a request means, whatever it is written like. */
function meaning({ messages, system, tools, tool_choice, stop_sequences }: JsonObject): unknown {
  return JSON.parse(
    JSON.stringify({
      ...{ tools, tool_choice: tools === undefined ? undefined : tool_choice, stop_sequences },
      system: joined(blocksOf(system)),
      messages: (messages as JsonObject[]).map(({ role, content }) => ({
        role,
        content: role === 'assistant' ? joined(blocksOf(content)) : blocksOf(content).map(resultOf),
      })),
    }),
  );
}

function blocksOf(content: unknown): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content : [];
}

/** The marker of a block of a result is that of the result. */
function resultOf(block: JsonObject): JsonObject {
  if (block.type !== 'tool_result') return block;
  const blocks = blocksOf(block.content);
  const marked = blocks.findLast((one) => one.cache_control !== undefined);
  const content = joined(blocks).map(({ cache_control: _, ...one }) => one);
  return { ...block, content: joined(content), ...(marked ? { cache_control: marked.cache_control } : {}) };
}

/** Texts without a marker are one. */
function joined(blocks: readonly JsonObject[]): JsonObject[] {
  const plain = blocks.every(({ type, cache_control: marker }) => type === 'text' && marker === undefined);
  const text = blocks.map((block) => block.text).join('\n\n');
  return plain && blocks.length > 0 ? [{ type: 'text', text }] : [...blocks];
}

describe('the body of a request at the door of Messages', () => {
  test('becomes a chat completion with the same meaning, which chat accepts', () => {
    fc.assert(
      fc.property(arbitraryRequest, (body: MessageCreateParams) => {
        const { chat } = read(body);
        const facts = readChatRequest(Buffer.from(JSON.stringify(chat)), undefined);
        expect(facts).toMatchObject({
          ...{ model: body.model, stream: body.stream ?? false, maxTokens: body.max_tokens },
          hasTools: body.tools !== undefined,
          ...(body.metadata?.user_id ? { user: body.metadata.user_id } : {}),
        });
        const back = ANTHROPIC.request(chat, SENT);
        if (back.kind !== 'body') throw new Error(back.problem);
        const { tools, tool_choice: choice } = back.body;
        // A choice of one tool leaves none out there.
        expect(meaning({ ...back.body, tools, tool_choice: choice })).toEqual(meaning(body as unknown as JsonObject));
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    [{ messages: [{ role: 'robot', content: 'a' }] }, 'messages[0].role'],
    [user(7), 'messages[0].content'],
    [user([]), 'messages[0].content'],
    [
      user([{ type: 'tool_result', tool_use_id: 't' }, { type: 'web_search_tool_result' }]),
      'messages[0].content[1].type',
    ],
    [user([{ type: 'tool_result' }]), 'messages[0].content[0].tool_use_id'],
    [user([{ type: 'document', source: { type: 'url', url: 'x' } }]), 'messages[0].content[0].source.type'],
    [user([{ type: 'image', source: { type: 'file', file_id: 'x' } }]), 'messages[0].content[0].source'],
    [user([{ type: 'image', source: { type: 'url', url: 7 } }]), 'messages[0].content[0].source.url'],
    [user([{ type: 'image', source: { type: 'base64', data: 'AA' } }]), 'messages[0].content[0].source.media_type'],
    [
      user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: ['AA'] } }]),
      'messages[0].content[0].source.data',
    ],
    [
      user([{ type: 'document', source: { type: 'base64', media_type: ['application/pdf'], data: 'AA' } }]),
      'messages[0].content[0].source.media_type',
    ],
    [
      user([{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: null } }]),
      'messages[0].content[0].source.data',
    ],
    [user([{ type: 'document', source: { type: 'text', data: {} } }]), 'messages[0].content[0].source.data'],
    [user([{ type: 'document', source: { type: 'content', content: 7 } }]), 'messages[0].content[0].source.content'],
    [user([{ type: 'search_result', title: 't', source: 's', content: 7 }]), 'messages[0].content[0].content'],
    [
      user([{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'tool_reference', tool_name: ['f'] }] }]),
      'messages[0].content[0].content[0].tool_name',
    ],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'server_tool_use', id: 's' }] }] },
      'messages[0].content[0].type',
    ],
    [{ stop_sequences: 'END' }, 'stop_sequences'],
    [{ stop_sequences: ['a', 'b', 'c', 'd', 5] }, 'stop_sequences'],
    [{ stop_sequences: ['a', 'b', 'c', 'd', 'e'.repeat(8193)] }, 'stop_sequences'],
    [{ system: 7 }, 'system'],
    [{ system: [{ type: 'image' }] }, 'system[0].type'],
    [{ tools: [{ name: 'f' }, { type: 'bash_20250124', name: 'bash' }] }, 'tools[1].type'],
    [{ tool_choice: { type: 'some' } }, 'tool_choice.type'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ context_management: { edits: {} } }, 'context_management.edits'],
    [{ thinking: { type: 'hard' } }, 'thinking.type'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    [{ output_format: { type: 'json_schema', schema: [] } }, 'output_format.schema'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management.edits[0].type'],
    [{ context_management: { edits: [{ type: ['clear_thinking_20251015'] }] } }, 'context_management.edits[0].type'],
    [{ container: 'c' }, 'container'],
    [{ inference_geo: 'us' }, 'inference_geo'],
  ])('is refused for features that are not offered: %j', (more, param) => {
    const body = { ...user('Hello'), max_tokens: 1, ...more };
    expect(readMessagesBody(body, { reasoningEfforts: [] })).toMatchObject({ kind: 'invalid', param });
  });

  test.each([
    [{}, EFFORTS, undefined],
    [{ output_config: { effort: 'medium' } }, EFFORTS, 'low'],
    [{ output_config: { effort: 'max' } }, EFFORTS, 'high'],
    [{ output_config: { effort: 'max' } }, [], undefined],
    [{ output_config: { effort: 'low' } }, ['medium'], 'medium'],
    [{ thinking: { type: 'disabled' } }, ['none', 'low'], 'none'],
    [{ thinking: { type: 'disabled' } }, EFFORTS, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, EFFORTS, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 32_000 } }, EFFORTS, 'high'],
    [{ thinking: { type: 'adaptive' } }, EFFORTS, undefined],
  ])('gets the nearest effort of its model: %j of %j', (more, efforts, effort) => {
    expect(read({ ...user('Hello'), ...more }, efforts).chat.reasoning_effort).toBe(effort);
  });

  test('has deferred tools once they are loaded', () => {
    const deferred = (name: string) => ({ name, input_schema: {}, defer_loading: true });
    const tools = [{ name: 'find', input_schema: {} }, deferred('a'), deferred('b'), deferred('c')];
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'find', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'tool_reference', tool_name: 'b' }] }],
      },
      {
        role: 'system',
        content: [
          { type: 'text', text: 'More tools.' },
          { type: 'tool_addition', tool: { type: 'tool_reference', name: 'c' } },
          { type: 'tool_addition', tool: { type: 'tool_definition', definition: { name: 'd', input_schema: {} } } },
        ],
      },
    ];
    const { chat, tools: places } = read({ messages, tools });
    const names = (chat.tools as JsonObject[]).map((tool) => isObject(tool.function) && tool.function.name);
    expect(names).toEqual(['d', 'find', 'b', 'c']);
    expect(places).toEqual(['messages[3].content[2].tool.definition', 'tools[0]', 'tools[2]', 'tools[3]']);
    expect((chat.messages as JsonObject[]).at(-1)).toEqual({ role: 'system', content: 'More tools.' });
  });

  test('keeps more stop sequences than chat accepts, for targets of Messages', () => {
    const { chat, mayPass } = read({ ...user('Hello'), stop_sequences: ['a', 'b', 'c', 'd', 'e'] });
    expect([chat.stop, mayPass]).toEqual([['a', 'b', 'c', 'd'], true]);
    expect(read({ ...user('Hello'), stop_sequences: [] }).chat).not.toHaveProperty('stop');
  });

  test('reports that a tool failed, and may have documents of text', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: 'No such file.', is_error: true };
    const document = { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'D' } };
    expect(read(user([result, document])).chat.messages).toEqual([
      { role: 'tool', tool_call_id: 't', content: 'No such file.\n\nThe tool reports an error.' },
      { role: 'user', content: 'T\n\nD' },
    ]);
  });
});
