import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoRequest } from './chat-request.ts';
import { chunk, event, sendError, sendJson } from './wire.ts';

/** The ways to fail on request: the last user message `fail: NAME` selects one. */
const STATUSES = [400, 401, 403, 404, 422, 429, 500, 502, 503, 529];

type Failure = (response: ServerResponse, chat: DemoRequest) => Promise<void> | void;

const FAILURES: Readonly<Record<string, Failure>> = {
  reset: (response) => void response.socket?.resetAndDestroy(),
  cut: async (response, chat) => {
    await begin(response, chat, ['This', ' answer', ' is']);
    response.socket?.resetAndDestroy();
  },
  // Both last until the gateway's own time-out ends them.
  stall: (response, chat) => begin(response, chat, ['This', ' answer', ' stops']),
  silent: () => {},
  'no-done': async (response, chat) => {
    await begin(response, chat, ['This', ' answer', ' ends']);
    response.end();
  },
  'error-event': async (response, chat) => {
    if (!chat.stream) return sendJson(response, 200, ERROR);
    await begin(response, chat, ['This', ' answer', ' fails']);
    response.end(event(ERROR));
  },
  'error-first': (response, chat) => {
    if (!chat.stream) return sendJson(response, 200, ERROR);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(event(ERROR));
  },
  html: (response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end('<html><body>502 Bad Gateway</body></html>');
  },
  garbage: (response, chat) => {
    response.writeHead(200, { 'content-type': chat.stream ? 'text/event-stream' : 'application/json' });
    response.end(chat.stream ? 'data: {"choices": [}\n\n' : '{"choices": [}');
  },
};

const ERROR = { error: { message: 'The demo model failed on request.', type: 'server_error', code: 'demo_failure' } };

/** `said` is in lower case. `undefined`: it requests no known failure. */
export function failureOf(said: string): Failure | undefined {
  const name = /^fail:\s*([a-z0-9-]+)$/.exec(said)?.[1];
  if (name === undefined) return undefined;
  const status = Number(name);
  if (STATUSES.includes(status)) {
    return (response) => sendError(response, status, `The demo model answers ${status} on request.`);
  }
  return Object.hasOwn(FAILURES, name) ? FAILURES[name] : undefined;
}

/** The beginning of a response: some words of a stream, or a piece of JSON. */
async function begin(response: ServerResponse, chat: DemoRequest, words: readonly string[]): Promise<void> {
  response.writeHead(200, { 'content-type': chat.stream ? 'text/event-stream' : 'application/json' });
  if (chat.stream) for (const word of words) response.write(event(chunk(chat, { content: word })));
  else response.write('{"id":"demo-1","object":"chat.completion",');
  // A reset would overtake bytes that are not written yet.
  await sleep(50);
}
