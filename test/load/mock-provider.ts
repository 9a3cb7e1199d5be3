/**
 * A provider that costs little CPU: it sends prepared responses, selected by the model name, and
 * parses no bodies. Load tests and the bench run it in its own process. Models: `json` (1 KB),
 * `responses-json` and `messages-json` (the same of the other APIs), `fast-stream` (200 events at
 * once), `openai-stream` (the same with the members that OpenAI sends), `responses-stream` and
 * `messages-stream` (the same of the other APIs), `paced-stream` (10 events, 300 ms apart),
 * `big-stream` and `big-json` (50 MB), `held-stream` (one event, then nothing for 20 s),
 * `silent-stream` (nothing for 20 s).
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunkBody, completionBody, DONE, sse, streamEvents } from '../provider/chat-format.ts';
import { messagesJson, messagesStream, paddingOf, responsesJson, responsesStream } from './api-streams.ts';

const FAST_EVENTS = 200;
const PACED_EVENTS = 10;
const PACE_MS = 300;
const HELD_MS = 20_000;

const usage = { prompt_tokens: 200, completion_tokens: 200, total_tokens: 400 };
const BIG_BYTES = 50_000_000;
const SAID = 'x'.repeat(700);
const json = Buffer.from(completionBody({ model: 'json', text: SAID, usage }));
const JSON_OF: Readonly<Record<string, Buffer>> = {
  'responses-json': responsesJson(SAID),
  'messages-json': messagesJson(SAID),
};
const fast = eventsOf('fast-stream', FAST_EVENTS);
const openai = fast.map(asOpenAi);
const responses = responsesStream(piecesOf(FAST_EVENTS));
const messages = messagesStream(piecesOf(FAST_EVENTS));
const paced = eventsOf('paced-stream', PACED_EVENTS);

function piecesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => ` word${index}`);
}

function eventsOf(model: string, count: number): Buffer[] {
  const pieces = piecesOf(count);
  return [...streamEvents({ model, pieces, usage }), DONE].map((text) => Buffer.from(text));
}

/** A chunk with the members that api.openai.com adds. */
function asOpenAi(event: Buffer, index: number): Buffer {
  const text = event.toString();
  if (!text.includes('"content"')) return event;
  const more = { service_tier: 'default', system_fingerprint: 'fp_0123456789', usage: null };
  const members = JSON.stringify({ ...more, obfuscation: paddingOf(index) }).slice(1);
  return Buffer.from(text.replace(/}\n\n$/, `,${members}\n\n`));
}

const server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
  let model = '';
  // The model name may be in any piece of the body. In these tests it never spans two pieces.
  request.on('data', (piece: Buffer) => {
    model ||= /"model":\s*"([\w-]+)"/.exec(piece.toString('latin1'))?.[1] ?? '';
  });
  request.on('end', () => {
    if (model === 'fast-stream') return playFast(response, fast);
    if (model === 'openai-stream') return playFast(response, openai);
    if (model === 'responses-stream') return playFast(response, responses);
    if (model === 'messages-stream') return playFast(response, messages);
    if (model === 'paced-stream') return playPaced(response);
    if (model === 'big-stream') return playBig(response);
    if (model === 'big-json') return playBigJson(response);
    if (model === 'held-stream') return playHeld(response, 1);
    if (model === 'silent-stream') return playHeld(response, 0);
    const body = JSON_OF[model] ?? json;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
});

/** Writes each event separately, because providers send many small pieces. */
function playFast(response: ServerResponse, events: readonly Buffer[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let next = 0;
  const step = (): void => {
    for (let burst = 0; burst < 4 && next < events.length; burst++) response.write(events[next++]);
    if (next < events.length) setImmediate(step);
    else response.end();
  };
  step();
}

function playPaced(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let next = 0;
  const timer = setInterval(() => {
    response.write(paced[next++]);
    if (next < paced.length) return;
    clearInterval(timer);
    response.end();
  }, PACE_MS);
  response.on('close', () => clearInterval(timer));
}

/**
 * Respects backpressure. Memory for an unread response therefore grows only in a process that
 * ignores backpressure.
 */
function playBig(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = Buffer.from(sse(chunkBody({ model: 'big-stream', delta: { content: 'x'.repeat(16_000) } })));
  let sent = 0;
  const step = (): void => {
    while (sent < BIG_BYTES && !response.destroyed) {
      sent += event.length;
      if (!response.write(event)) {
        response.once('drain', step);
        return;
      }
    }
    if (response.destroyed) return;
    for (const last of fast.slice(-3)) response.write(last);
    response.end();
  };
  step();
}

function playHeld(response: ServerResponse, eventsAtOnce: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of paced.slice(0, eventsAtOnce)) response.write(event);
  const timer = setTimeout(() => response.end(Buffer.concat(paced.slice(eventsAtOnce))), HELD_MS);
  response.on('close', () => clearTimeout(timer));
}

let bigJson: Buffer | undefined;

function playBigJson(response: ServerResponse): void {
  bigJson ??= Buffer.from(completionBody({ model: 'big-json', text: 'x'.repeat(BIG_BYTES), usage }));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bigJson.length });
  response.end(bigJson);
}

server.listen(0, '127.0.0.1', 8192, () => {
  process.send?.({ type: 'listening', port: (server.address() as AddressInfo).port });
});
process.on('disconnect', () => process.exit(0));
