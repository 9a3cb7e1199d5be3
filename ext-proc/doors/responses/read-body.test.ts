import fc from 'fast-check';
import type { ResponseCreateParams } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import { RESPONSES } from '../../dialects/responses/responses.ts';
import { arbitraryRequest } from './arbitrary-request.fixture.ts';
import { readResponsesBody } from './read-body.ts';

const SENT = { model: 'm', outputLimit: 100, stream: false, identities: new Map(), isReasoning: true, extraFields: [] };

function read(body: object) {
  const result = readResponsesBody({ model: 'm', ...body });
  if (result.kind === 'invalid') throw new Error(`${result.param} ${result.requirement}`);
  return result;
}

/** What a request means, whatever it is written like. */
function meaning({ input, instructions, tools, tool_choice, text, temperature, top_p }: JsonObject): unknown {
  const items = (typeof input === 'string' ? [{ role: 'user', content: input }] : input) as JsonObject[];
  const first: JsonObject[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  const format = (text as JsonObject | undefined)?.format;
  const isIdle = tools === undefined && (tool_choice === 'auto' || tool_choice === 'none');
  return JSON.parse(
    JSON.stringify({
      ...{ tools, temperature, top_p, verbosity: (text as JsonObject | undefined)?.verbosity, format },
      tool_choice: isIdle ? undefined : tool_choice,
      items: [...first, ...items].map(({ id, type = 'message', status: _, content, ...item }) => ({
        ...{ type, ...item, content: contentOf(content) },
        ...(type === 'reasoning' ? { id } : {}),
      })),
    }),
  );
}

function contentOf(content: unknown): unknown {
  const [first, ...others] = Array.isArray(content) ? content : [];
  return first && others.length === 0 && 'text' in first ? first.text : content;
}

describe('the body of a request at the door of Responses', () => {
  test('becomes a chat completion with the same meaning, which chat accepts', () => {
    fc.assert(
      fc.property(arbitraryRequest, (body: ResponseCreateParams) => {
        const { chat } = read(body);
        const facts = readChatRequest(Buffer.from(JSON.stringify(chat)), undefined);
        expect(facts).toMatchObject({
          model: body.model,
          stream: body.stream ?? false,
          hasTools: body.tools !== undefined,
          ...(body.max_output_tokens ? { maxTokens: body.max_output_tokens } : {}),
          ...(body.reasoning?.effort ? { reasoningEffort: body.reasoning.effort } : {}),
        });
        const back = RESPONSES.request(chat, SENT);
        expect(back.kind === 'body' && meaning(back.body)).toEqual(meaning(body as JsonObject));
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: { id: 'conv_1' } }, 'conversation'],
    [{ background: true }, 'background'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ store: 'no' }, 'store'],
    [{ truncation: 'some' }, 'truncation'],
    [{ text: { format: { type: 'json_schema', name: 'f' } } }, 'text.format.schema'],
    [{ text: { format: { type: 'json_schema', name: 'f', schema: 'x' } } }, 'text.format.schema'],
    [{ include: ['everything'] }, 'include'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]'],
    [{ input: [{ id: 'msg_1' }] }, 'input[0]'],
    [{ input: [{ type: null, id: 'msg_1' }] }, 'input[0]'],
    [{ input: [{ type: null, content: 'a' }] }, 'input[0].role'],
    [{ input: [{ role: 'user', content: 'a' }, { type: 'computer_call' }] }, 'input[1].type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'input[0].content[0].type'],
    [{ input: [{ role: 'robot', content: 'a' }] }, 'input[0].role'],
    [{ input: [{ type: 'function_call_output', output: 'a' }] }, 'input[0].call_id'],
    [{ tools: [{ type: 'file_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', name: 'f' }, { type: 'mcp' }] }, 'tools[1].type'],
    [{ tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'shell' }] }] }, 'tools[0].tools[0].type'],
    [{ tool_choice: { type: 'web_search' } }, 'tool_choice.type'],
    [{ tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }], tool_choice: 'required' }, 'tools[1].type'],
  ])('is refused for features that are not offered: %j', (more, param) => {
    expect(readResponsesBody({ model: 'm', input: 'Hello', ...more })).toMatchObject({ kind: 'invalid', param });
  });

  test('has at most 4,096 tools in namespaces, whose names are kept with the request', () => {
    const tools = Array.from({ length: 5_000 }, (_, at) => ({ type: 'function', name: `f${at}` }));
    const body = { model: 'm', input: 'Hello', tools: [{ type: 'namespace', name: 'a', tools }] };
    expect(readResponsesBody(body)).toMatchObject({ kind: 'invalid', param: 'tools[0].tools[4096]' });
  });

  test('loses a web search beside other tools among which the model may choose', () => {
    const { chat, mayPass } = read({
      input: 'Hello',
      tools: [
        { type: 'function', name: 'f' },
        { type: 'web_search', external_web_access: true },
      ],
    });
    expect([chat.tools, mayPass]).toEqual([[{ type: 'function', function: { name: 'f' } }], false]);
  });

  test('has the namespaces of tools in their names, and in the names of their calls', () => {
    const tools = [{ type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn' }] }];
    const input = [
      { type: 'additional_tools', role: 'developer', tools },
      { role: 'user', content: 'Go.' },
      { type: 'function_call', namespace: 'agents', name: 'spawn', call_id: 'c', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
    ];
    const { chat, asked, tools: places } = read({ input });
    expect(chat.tools).toEqual([{ type: 'function', function: { name: 'agents__spawn' } }]);
    expect(asked.namespaces).toEqual({ agents__spawn: ['agents', 'spawn'] });
    expect(places).toEqual(['input[0].tools[0].tools[0]']);
    expect(chat.messages).toMatchObject([
      { role: 'user' },
      { tool_calls: [{ function: { name: 'agents__spawn' } }] },
      { role: 'tool' },
    ]);
  });

  test('treats a type that is null as absent', () => {
    const { chat } = read({ input: [{ type: null, id: null, role: 'user', content: 'Go.' }] });
    expect(chat.messages).toEqual([{ role: 'user', content: 'Go.' }]);
  });

  test.each([{}, { tools: [] }, { tools: null }])('has no settings of tools if it has no tools: %j', (more) => {
    expect(read({ input: 'Go.', tool_choice: 'auto', parallel_tool_calls: true, ...more }).chat).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Go.' }],
    });
    // A call that is demanded cannot come: the provider says so.
    expect(read({ input: 'Go.', tool_choice: 'required', ...more }).chat.tool_choice).toBe('required');
  });

  test('drops reasoning of a turn that was broken off', () => {
    const { chat } = read({
      input: [
        { role: 'user', content: 'Go.' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      ],
    });
    expect(chat.messages).toEqual([{ role: 'user', content: 'Go.' }]);
  });

  test('reads from carried reasoning only what the gateway puts there', () => {
    const carried = (json: string) => `gw1.${Buffer.from(json).toString('base64url')}`;
    const deep = `{"details":[{"type":"reasoning.text","text":"a","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}]}`;
    const nested = '{"details":[{"type":"reasoning.text","text":"a","x":[[]]}]}';
    const [many, tooMany] = [9_000, 90_000].map((times) => `{"details":[${Array(times).fill('{}').join()}]}`);
    const texts = [deep, nested, many, tooMany, '{"details":7,"content":[]}'].map((json) => carried(json ?? ''));
    const input = [...texts, 'gw1.!'].map((text) => [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: text },
      { role: 'assistant', content: 'So.' },
      { role: 'user', content: 'Go.' },
    ]);
    const { chat } = read({ input: input.flat() });
    const kept = (chat.messages as JsonObject[]).flatMap(({ role, reasoning_details: details }) =>
      role === 'assistant' ? [details] : [],
    );
    const flat = [{ type: 'reasoning.text', text: 'a' }];
    expect(kept).toEqual([undefined, flat, Array(256).fill({}), undefined, undefined, undefined]);
    expect(() => JSON.stringify(chat)).not.toThrow();
  });
});
