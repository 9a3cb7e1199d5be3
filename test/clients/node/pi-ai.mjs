import { complete, stream as streamOf } from '@mariozechner/pi-ai';

const model = {
  id: process.env.GATEWAY_MODEL,
  name: process.env.GATEWAY_MODEL,
  api: 'openai-completions',
  provider: 'gateway',
  baseUrl: process.env.GATEWAY_URL,
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 128000,
  maxTokens: 32000,
};
const options = { apiKey: process.env.GATEWAY_KEY };

// End of the snippet.

import { NotThrown } from './not-thrown.mjs';
import { WEATHER, weatherIn } from './weather.mjs';

const userSays = (content) => ({ role: 'user', content, timestamp: Date.now() });
const textOf = ({ content }) =>
  content
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text)
    .join('');

async function asked(context) {
  const message = await complete(model, context, options);
  if (message.stopReason === 'error') throw new NotThrown("stopReason: 'error'", message.errorMessage);
  return message;
}

export async function chat(prompt) {
  return textOf(await asked({ messages: [userSays(prompt)] }));
}

export async function stream(prompt) {
  const pieces = [];
  for await (const event of streamOf(model, { messages: [userSays(prompt)] }, options))
    if (event.type === 'text_delta') pieces.push(event.delta);
  return pieces;
}

export async function tool(prompt) {
  const context = { messages: [userSays(prompt)], tools: [WEATHER] };
  const message = await asked(context);
  const { id: toolCallId, name: toolName, arguments: input } = message.content.find(({ type }) => type === 'toolCall');
  const content = [{ type: 'text', text: weatherIn(input.city) }];
  const result = { role: 'toolResult', toolCallId, toolName, content, isError: false, timestamp: Date.now() };
  context.messages.push(message, result);
  return textOf(await asked(context));
}
