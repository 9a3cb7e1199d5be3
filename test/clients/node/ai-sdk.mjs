import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { WEATHER, weatherIn } from './weather.mjs';

/** Acts with a model of the AI SDK, the same for every provider. */
export function actsOf(model) {
  return {
    chat: async (prompt) => (await generateText({ model, prompt })).text,
    stream: async (prompt) => {
      const pieces = [];
      for await (const piece of streamText({ model, prompt }).textStream) pieces.push(piece);
      return pieces;
    },
    tool: async (prompt) => {
      const { name, description, parameters } = WEATHER;
      const weather = tool({
        description,
        inputSchema: jsonSchema(parameters),
        execute: ({ city }) => weatherIn(city),
      });
      return (await generateText({ model, prompt, tools: { [name]: weather }, stopWhen: stepCountIs(2) })).text;
    },
  };
}
