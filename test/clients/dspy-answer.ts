import { DEFAULT_TEXT } from '../provider/chat-format.ts';

/** DSPy's notation of a field in requests and responses. */
const FIELD = /\[\[ ## (\w+) ## \]\]/g;
const ASKS = 'Respond with the corresponding output fields';

/**
 * The response to a message of DSPy, which lists the fields that it reads from the response's text.
 * An agent's fields name the next tool, or `finish` if it needs none. `undefined` if the message is
 * not DSPy's.
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
