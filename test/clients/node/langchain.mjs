import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({
  model: process.env.GATEWAY_MODEL,
  apiKey: process.env.GATEWAY_KEY,
  configuration: { baseURL: process.env.GATEWAY_URL },
});

// End of the snippet.

import { createAgent, tool as toolOf } from 'langchain';
import { WEATHER, weatherIn } from './weather.mjs';

export async function chat(prompt) {
  return (await model.invoke(prompt)).text;
}

export async function stream(prompt) {
  const pieces = [];
  for await (const chunk of await model.stream(prompt)) pieces.push(chunk.text);
  return pieces.filter(Boolean);
}

export async function tool(prompt) {
  const { name, description, parameters: schema } = WEATHER;
  const agent = createAgent({ model, tools: [toolOf(({ city }) => weatherIn(city), { name, description, schema })] });
  const { messages } = await agent.invoke({ messages: prompt });
  return messages.at(-1).text;
}
