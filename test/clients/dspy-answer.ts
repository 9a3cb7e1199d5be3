import { DEFAULT_TEXT } from '../provider/chat-format.ts';

/** DSPy's form of a field, in requests and answers. */
const FIELD = /\[\[ ## (\w+) ## \]\]/g;
const ASKS = 'Respond with the corresponding output fields';

/**
 * DSPy lists the fields of an answer in its last message, and reads them from the text. An agent's
 * fields name the next tool, and `finish` when it needs none. `undefined`: it is not DSPy.
 */
export function dspyAnswer(message: string, isWeatherKnown: boolean): string | undefined {
  const [, fields] = message.split(ASKS);
  if (fields === undefined) return undefined;
  const values: Readonly<Record<string, string>> = {
    next_tool_name: isWeatherKnown ? 'finish' : 'weather',
    next_tool_args: isWeatherKnown ? '{}' : '{"city":"Kyiv"}',
    completed: '',
  };
  return [...fields.matchAll(FIELD)]
    .map(([field, name = '']) => `${field}\n${values[name] ?? DEFAULT_TEXT}`)
    .join('\n\n');
}
