import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerTo, HELP, lastUserText, pieces, roughTokens } from './answers.ts';
import { type DemoRequest, readDemoRequest } from './chat-request.ts';
import { failureOf } from './failures.ts';
import { chunk, event, identity, sendError, sendJson } from './wire.ts';

export interface DemoPace {
  /** Pause before each word. */
  readonly paceMs?: number;
  /** Delay of "slow". */
  readonly slowMs?: number;
}

export interface DemoProviderOptions extends DemoPace {
  /** 0: any free port. */
  readonly port: number;
  readonly host?: string;
}

/** Above the gateway's default limit of 20 MiB. */
const LARGEST_BODY_BYTES = 32 * 1024 * 1024;

export async function startDemoProvider(options: DemoProviderOptions) {
  const server = createDemoServer(options);
  // Loopback by default, because the demo responds to every client that can reach it.
  server.listen(options.port, options.host ?? '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Serves connections that it accepts itself, or that its event `connection` passes. */
export function createDemoServer(pace: DemoPace = {}): Server {
  return createServer((request, response) => {
    answer(request, response, pace).catch((error: unknown) => {
      process.stderr.write(`demo provider: ${String(error)}\n`);
      response.destroy();
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, pace: DemoPace): Promise<void> {
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    return sendError(response, 404, 'The demo provider only knows POST /v1/chat/completions.');
  }
  const body = await readBody(request);
  if (body === undefined) return sendError(response, 413, 'The demo provider does not take that much.');
  const chat = readDemoRequest(body);
  if (!chat) return sendError(response, 400, 'This is not a chat completion request.');

  const said = lastUserText(chat.messages).toLowerCase();
  const failure = failureOf(said);
  if (failure) return failure(response, chat);
  if (said === 'slow') await sleep(pace.slowMs ?? 3000);

  const words = pieces(said === 'help' ? HELP : answerTo(chat.messages));
  const given = words.slice(0, chat.maxTokens);
  const text = given.join('');
  const outcome: Outcome = {
    text,
    finishReason: given.length < words.length ? 'length' : 'stop',
    usage: usageOf(chat, text),
  };
  if (chat.stream) await sendStream(response, chat, given, outcome, pace.paceMs ?? 30);
  else sendJson(response, 200, completion(chat, outcome));
}

interface Outcome {
  readonly text: string;
  readonly finishReason: 'stop' | 'length';
  readonly usage: ReturnType<typeof usageOf>;
}

async function sendStream(
  response: ServerResponse,
  chat: DemoRequest,
  words: readonly string[],
  outcome: Outcome,
  paceMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(event(chunk(chat, { role: 'assistant', content: '' })));
  for (const word of words) {
    await sleep(paceMs);
    if (response.destroyed) return;
    response.write(event(chunk(chat, { content: word })));
  }
  response.write(event(chunk(chat, {}, outcome.finishReason)));
  if (chat.includeUsage) response.write(event({ ...chunk(chat, {}), choices: [], usage: outcome.usage }));
  response.end('data: [DONE]\n\n');
}

function completion(chat: DemoRequest, outcome: Outcome): object {
  const message = { role: 'assistant', content: outcome.text };
  return {
    ...identity(chat, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: outcome.finishReason }],
    usage: outcome.usage,
  };
}

function usageOf(chat: DemoRequest, text: string): Record<string, number> {
  const prompt = chat.messages.reduce((sum, message) => sum + roughTokens(message.text) + 4, 0);
  const completionTokens = Math.min(roughTokens(text), chat.maxTokens);
  return { prompt_tokens: prompt, completion_tokens: completionTokens, total_tokens: prompt + completionTokens };
}

/**
 * `undefined`: the body is too large. The rest is still read, so that the caller gets the response
 * instead of a reset.
 */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).length;
    if (size <= LARGEST_BODY_BYTES) parts.push(part as Buffer);
  }
  return size <= LARGEST_BODY_BYTES ? Buffer.concat(parts).toString() : undefined;
}
