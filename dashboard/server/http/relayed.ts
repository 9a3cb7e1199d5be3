import { GATEWAY_STATUS } from '#contract/playground.ts';
import type { Log } from '#core/log/log.ts';
import type { GatewayResponse } from '../playground/ask-gateway.ts';
import { unavailable } from './problem.ts';
import { type AppContext, sendProblem } from './responses.ts';
import type { Relay } from './route.ts';

const PASSED_ON = ['x-request-id', 'x-generation-id', 'retry-after'];

/** Relays the gateway's response at the browser's pace. A browser that leaves cancels it. */
export async function relay(context: AppContext, { open, end }: Relay, log: Log): Promise<Response> {
  const { outgoing } = context.env;
  const left = new AbortController();
  outgoing.once('close', () => {
    left.abort();
    end();
  });
  if (outgoing.destroyed) {
    end();
    return context.body(null, 400);
  }
  try {
    return passOn(context, await open(left.signal), end);
  } catch (error) {
    end();
    if (!left.signal.aborted) log.warn({ err: error }, 'the playground did not reach the gateway');
    return sendProblem(context, unavailable('The dashboard cannot reach the gateway: ask the operator.'));
  }
}

function passOn(context: AppContext, { status, headers, body }: GatewayResponse, end: () => void): Response {
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
  context.header('content-type', isStream ? 'text/event-stream; charset=utf-8' : 'application/json');
  context.header(GATEWAY_STATUS, String(status));
  // Keeps a proxy from buffering the stream, which would then appear only at its end.
  context.header('x-accel-buffering', 'no');
  for (const name of PASSED_ON) {
    const value = headers[name];
    if (typeof value === 'string') context.header(name, value);
  }
  return context.body(ReadableStream.from(piecesOf(body, end)));
}

/** Ends without an error if the request is cut: the page notices the missing last event. */
async function* piecesOf(body: AsyncIterable<Buffer>, end: () => void): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    for await (const piece of body) yield new Uint8Array(piece);
  } catch {
    return;
  } finally {
    end();
  }
}
