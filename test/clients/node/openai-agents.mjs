import { Agent, OpenAIProvider, Runner } from '@openai/agents';

const runner = new Runner({
  modelProvider: new OpenAIProvider({
    baseURL: process.env.GATEWAY_URL,
    apiKey: process.env.GATEWAY_KEY,
    // Without it the provider asks for /v1/responses.
    useResponses: false,
  }),
  // Traces go to OpenAI.
  tracingDisabled: true,
});
const agent = new Agent({ name: 'assistant', model: process.env.GATEWAY_MODEL });

// End of the snippet.

import { tool as toolOf } from '@openai/agents';
import { WEATHER, weatherIn } from './weather.mjs';

export async function chat(prompt) {
  return (await runner.run(agent, prompt)).finalOutput;
}

export async function stream(prompt) {
  const result = await runner.run(agent, prompt, { stream: true });
  const pieces = [];
  for await (const piece of result.toTextStream()) pieces.push(piece);
  return pieces;
}

export async function tool(prompt) {
  const { parameters, ...named } = WEATHER;
  const weather = toolOf({
    ...named,
    parameters: { ...parameters, additionalProperties: false },
    execute: ({ city }) => weatherIn(city),
  });
  return (await runner.run(agent.clone({ tools: [weather] }), prompt)).finalOutput;
}
