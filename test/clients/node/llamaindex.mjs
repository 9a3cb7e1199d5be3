import { openai } from '@llamaindex/openai';

const llm = openai({
  model: process.env.GATEWAY_MODEL,
  apiKey: process.env.GATEWAY_KEY,
  baseURL: process.env.GATEWAY_URL,
});

// End of the snippet.

import { FunctionTool } from 'llamaindex';
import { WEATHER, weatherIn } from './weather.mjs';

const userSays = (content) => [{ role: 'user', content }];

export async function chat(prompt) {
  return (await llm.chat({ messages: userSays(prompt) })).message.content;
}

export async function stream(prompt) {
  const pieces = [];
  for await (const { delta } of await llm.chat({ messages: userSays(prompt), stream: true })) pieces.push(delta);
  return pieces.filter(Boolean);
}

export async function tool(prompt) {
  const tools = [FunctionTool.from(({ city }) => weatherIn(city), WEATHER)];
  const { newMessages } = await llm.exec({ messages: userSays(prompt), tools });
  const { message } = await llm.chat({ messages: [...userSays(prompt), ...newMessages], tools });
  return message.content;
}
