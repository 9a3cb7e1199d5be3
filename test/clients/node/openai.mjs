import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.GATEWAY_URL, apiKey: process.env.GATEWAY_KEY });
// It does not send `idempotencyKey` of a request: use headers: { 'Idempotency-Key': … }.
const model = process.env.GATEWAY_MODEL;

// End of the snippet.

import { WEATHER, weatherIn } from './weather.mjs';

const userSays = (content) => [{ role: 'user', content }];

export async function chat(prompt) {
  const completion = await client.chat.completions.create({ model, messages: userSays(prompt) });
  return completion.choices[0].message.content;
}

export async function stream(prompt) {
  const pieces = [];
  for await (const chunk of await client.chat.completions.create({ model, messages: userSays(prompt), stream: true }))
    pieces.push(chunk.choices[0]?.delta.content);
  return pieces.filter(Boolean);
}

export async function tool(prompt) {
  const runner = client.chat.completions.runTools({
    model,
    messages: userSays(prompt),
    tools: [{ type: 'function', function: { ...WEATHER, parse: JSON.parse, function: ({ city }) => weatherIn(city) } }],
  });
  return await runner.finalContent();
}
