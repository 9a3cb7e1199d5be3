import { createOpenAI } from '@ai-sdk/openai';
import type { Response as ModelResponse } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import { CALL_AFTER_TEXT, OPEN_REASONING, PARALLEL_CALLS, REFUSAL, TEXT, TWO_PARTS } from './scenarios.fixture.ts';
import { scripted } from './scripted-stream.fixture.ts';

/**
 * The scripted streams as a client reads them that is not ours: it checks every event against
 * schemas of its own. So what is translated here is what a client of Responses would accept.
 */
async function readByClient(response: ModelResponse) {
  const body = scripted(response)
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const model = createOpenAI({ apiKey: 'x', fetch }).responses('gpt-6-luna');
  const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] });
  const read = { text: '', reasoning: '', calls: [] as string[], errors: [] as unknown[], usage: {} as object };
  for await (const part of stream) {
    if (part.type === 'text-delta') read.text += part.delta;
    if (part.type === 'reasoning-delta') read.reasoning += part.delta;
    if (part.type === 'tool-call') read.calls.push(`${part.toolName} ${part.input}`);
    if (part.type === 'error') read.errors.push(part.error);
    if (part.type === 'finish') read.usage = part.usage;
  }
  return read;
}

describe('scripted streams are read by the AI SDK', () => {
  test.each<[string, ModelResponse, object]>([
    ['text', TEXT, { text: 'In a peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.' }],
    ['two parts', TWO_PARTS, { text: '{"a":1}' }],
    [
      'parallel calls',
      PARALLEL_CALLS,
      {
        calls: ['get_weather {"location":"Paris, France"}', 'get_weather {"location":"Bogotá, Colombia"}'],
        reasoning: '**Weather**\n\nBoth cities.**Tools**\n\nOne call for each.',
      },
    ],
    ['a call after text', CALL_AFTER_TEXT, { text: 'I look it up.', calls: ['search {}', 'shell "ls -l \\"a b\\""'] }],
    ['open reasoning', OPEN_REASONING, { text: 'Hello.' }],
    ['a refusal', REFUSAL, {}],
  ])('%s', async (_, response, expected) => {
    const read = await readByClient(response);
    expect(read).toMatchObject({ errors: [], ...expected });
    expect(read.usage).toMatchObject({
      inputTokens: { total: 328, cacheRead: 128 },
      outputTokens: { total: 52, reasoning: 32 },
    });
  });
});
