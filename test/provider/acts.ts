import { setTimeout as sleep } from 'node:timers/promises';
import type { Act, Call } from './call.ts';
import { type CompletionContent, completionBody, DONE, type StreamContent, sse, streamEvents } from './chat-format.ts';

/** Acts of a scripted provider. Acts compose: `slowly(200, jsonAnswer())`. */

const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

export function jsonAnswer(content: Partial<CompletionContent> = {}): Act {
  return (call) => {
    const body = completionBody({ model: call.seen.model, ...content });
    call.writeHead(200, { ...JSON_TYPE, 'content-length': String(Buffer.byteLength(body)) });
    call.end(body);
  };
}

/** Any status, headers and body. */
export function rawAnswer(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): Act {
  return (call) => {
    call.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) });
    call.end(body);
  };
}

export function errorAnswer(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Act {
  const body = JSON.stringify({ error: { message, type: 'provider_error', code: 'provider_code' } });
  return rawAnswer(status, { ...JSON_TYPE, ...headers }, body);
}

export const htmlBadGateway: Act = rawAnswer(
  502,
  { 'content-type': 'text/html' },
  '<html><body><h1>502 Bad Gateway</h1></body></html>',
);

export interface StreamAct extends Partial<StreamContent> {
  /** Pause before every event except the first. */
  readonly paceMs?: number;
  /** Awaited just before event `index` is written. */
  readonly onEvent?: (index: number) => Promise<void> | void;
}

export function streamAnswer(options: StreamAct = {}): Act {
  return async (call) => {
    await writeEvents(call, streamEvents({ model: call.seen.model, ...options }), options);
    call.end(DONE);
  };
}

/** The default act: a stream if the request asks for one, otherwise JSON. */
export const plainAnswer: Act = (call) => (call.seen.stream ? streamAnswer()(call) : jsonAnswer()(call));

/** Sends the first `events` events of a healthy stream, then does `then`. */
export function streamThen(events: number, then: Act, options: StreamAct = {}): Act {
  return (call) =>
    eventsThen(streamEvents({ model: call.seen.model, ...options }).slice(0, events), then, options)(call);
}

/** Sends these events of any API, then does `then`. */
export function eventsThen(events: readonly string[], then: Act, options: StreamAct = {}): Act {
  return async (call) => {
    await writeEvents(call, events, options);
    await then(call);
  };
}

/** Sends TCP RST or RST_STREAM at this point. Alone, it resets before any response. */
export const reset: Act = async (call) => {
  // Written bytes must leave the process first, or the reset discards them and changes the case.
  await sleep(30);
  call.reset();
};

/** A 200 with a JSON body that is cut after `bytes` bytes. */
export function resetAfterBytes(bytes: number): Act {
  return async (call) => {
    const body = completionBody({ model: call.seen.model });
    call.writeHead(200, { ...JSON_TYPE, 'content-length': String(Buffer.byteLength(body)) });
    await call.write(body.slice(0, bytes));
    await reset(call);
  };
}

/** Sends nothing more and waits for the caller to hang up. */
export const stall: Act = (call) =>
  new Promise((resolve) => call.gone.addEventListener('abort', () => resolve(), { once: true }));

/** Ends the response cleanly without `[DONE]`. */
export const endWithoutDone: Act = (call) => call.end();

/** An error event, as providers send them inside a 200 stream. */
export function errorEvent(message = 'provider overloaded'): Act {
  return async (call) => {
    if (!headWritten.has(call)) begin(call);
    await call.write(sse(JSON.stringify({ error: { message, type: 'server_error', code: 'overloaded' } })));
    call.end(DONE);
  };
}

/** Writes bytes as they are into a stream. */
export function raw(bytes: string | Uint8Array): Act {
  return async (call) => {
    if (!headWritten.has(call)) begin(call);
    await call.write(bytes);
    call.end();
  };
}

export function slowly(delayMs: number, then: Act): Act {
  return async (call) => {
    await sleep(delayMs, undefined, { signal: call.gone }).catch(() => {});
    if (!call.gone.aborted) await then(call);
  };
}

const headWritten = new WeakSet<Call>();

function begin(call: Call): void {
  headWritten.add(call);
  call.writeHead(200, EVENT_STREAM);
}

async function writeEvents(call: Call, events: readonly string[], options: StreamAct): Promise<void> {
  if (!headWritten.has(call)) begin(call);
  for (const [index, event] of events.entries()) {
    if (index > 0 && options.paceMs) await sleep(options.paceMs, undefined, { signal: call.gone }).catch(() => {});
    if (call.gone.aborted) return;
    await options.onEvent?.(index);
    await call.write(event);
  }
}
