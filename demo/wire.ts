import type { ServerResponse } from 'node:http';
import type { DemoRequest } from './chat-request.ts';

/** OpenAI's wire format, as far as the demo model speaks it. */

export function chunk(chat: DemoRequest, delta: object, finishReason: string | null = null): object {
  return { ...identity(chat, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason: finishReason }] };
}

export function identity(chat: DemoRequest, object: string): object {
  return { id: 'demo-1', object, created: Math.floor(Date.now() / 1000), model: chat.model };
}

export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

export function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: 'demo_error', code: null } });
}
