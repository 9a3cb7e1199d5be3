import { constructLlmApi } from '@continuedev/openai-adapters';

const llm = constructLlmApi({
  provider: 'openai',
  apiBase: `${process.env.GATEWAY_URL}/`,
  apiKey: process.env.GATEWAY_KEY,
});
const model = process.env.GATEWAY_MODEL;

// End of the snippet.

import { WEATHER, weatherIn } from './weather.mjs';

const userSays = (content) => [{ role: 'user', content }];
const { signal } = new AbortController();

export async function chat(prompt) {
  const completion = await llm.chatCompletionNonStream({ model, messages: userSays(prompt) }, signal);
  return completion.choices[0].message.content;
}

export async function stream(prompt) {
  const pieces = [];
  for await (const chunk of llm.chatCompletionStream({ model, messages: userSays(prompt), stream: true }, signal))
    pieces.push(chunk.choices[0]?.delta.content);
  return pieces.filter(Boolean);
}

export async function tool(prompt) {
  const messages = userSays(prompt);
  const tools = [{ type: 'function', function: WEATHER }];
  const { message } = (await llm.chatCompletionNonStream({ model, messages, tools }, signal)).choices[0];
  const [{ id, function: called }] = message.tool_calls;
  const result = weatherIn(JSON.parse(called.arguments).city);
  messages.push(message, { role: 'tool', tool_call_id: id, content: result });
  const completion = await llm.chatCompletionNonStream({ model, messages, tools }, signal);
  return completion.choices[0].message.content;
}
