import type { MessagePlace } from '../door.ts';

/**
 * Places in the client's body of the messages and tools of the chat body, one line of JSON each. A
 * thread transfers one array of bytes at once, while 80,000 objects would block the event loop for
 * 80 ms. Few places are ever looked up.
 */
export interface Places {
  readonly messages: Uint8Array;
  readonly tools: Uint8Array;
}

export function placesOf(messages: readonly MessagePlace[], tools: readonly string[]): Places {
  return { messages: lines(messages), tools: lines(tools) };
}

function lines(values: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

const LINE_BREAK = 0x0a;

function lineAt(bytes: Uint8Array, index: number): unknown {
  let start = 0;
  for (let line = 0; line < index && start < bytes.length; line++) {
    const end = bytes.indexOf(LINE_BREAK, start);
    start = end === -1 ? bytes.length : end + 1;
  }
  const end = bytes.indexOf(LINE_BREAK, start);
  return end === -1 ? undefined : JSON.parse(new TextDecoder().decode(bytes.subarray(start, end)));
}

const MESSAGE =
  /^messages\[(\d+)\](?:\.tool_calls\[(\d+)\](?:\.(?:function|custom)(?=\.|$))?|(\.content)\b(?:\[(\d+)\])?)?/;
const TOOL = /^tools\[(\d+)\]/;

/** Translates a place of the chat body into the place of the client's body. */
export function placeOf(param: string, { messages, tools }: Places): string {
  const tool = TOOL.exec(param);
  if (tool) {
    const place = lineAt(tools, Number(tool[1])) as string | undefined;
    return (place ?? 'tools') + param.slice(tool[0].length);
  }
  const found = MESSAGE.exec(param);
  const place = found ? (lineAt(messages, Number(found[1])) as MessagePlace | undefined) : undefined;
  if (!found || place === undefined) return param;
  const [whole, , call, content, part] = found;
  const inContent = part === undefined ? place.content : (place.parts?.[Number(part)] ?? `${place.content}[${part}]`);
  const start = call === undefined ? (content ? inContent : place.message) : place.calls[Number(call)];
  return (start ?? place.message) + param.slice(whole.length);
}
