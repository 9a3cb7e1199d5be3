import { messageWith, text } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { scripted as messageEvents } from '#ext-proc/dialects/anthropic/scripted-stream.fixture.ts';
import { message, responseWith } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { scripted as responseEvents } from '#ext-proc/dialects/responses/scripted-stream.fixture.ts';

/** Responses and streams of the other APIs as their providers send them. */

export function responsesJson(said: string): Buffer {
  return Buffer.from(JSON.stringify(responseWith([message(said)])));
}

export function messagesJson(said: string): Buffer {
  return Buffer.from(JSON.stringify(messageWith([text(said)])));
}

/** A stream with a delta for each piece. */
export function responsesStream(pieces: readonly string[]): Buffer[] {
  const response = responseWith([message(pieces.join(''))]);
  return responseEvents(response, () => pieces).map((event, index) => {
    const padding = 'obfuscation' in event ? { obfuscation: paddingOf(index) } : {};
    return eventOf({ ...event, ...padding });
  });
}

export function messagesStream(pieces: readonly string[]): Buffer[] {
  return messageEvents(messageWith([text(pieces.join(''))]), () => pieces).map(eventOf);
}

/** Padding like OpenAI's, which hides the length of the text. It varies from event to event. */
export function paddingOf(index: number): string {
  return 'aB3dE5fG7hI9kL1m'.slice(0, 1 + ((index * 7) % 16));
}

function eventOf(event: { readonly type: string }): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}
