import type { Writable } from 'node:stream';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Log } from '#core/log/log.ts';
import type { Bound, Holder } from './bound.ts';
import type { RequestHead } from './caller.ts';
import type { Table } from './csv-downloads.ts';
import type { Problem } from './problem.ts';

/** Time to accept a piece of 64 KiB. A reader that reads nothing keeps memory and a slot. */
const TAKE_MS = 120_000;

export type AppContext = Context<{ Bindings: HttpBindings }>;

export function headOf({ env, req }: AppContext): RequestHead {
  return { peerAddress: env.incoming.socket.remoteAddress ?? '', header: (name) => req.header(name) };
}

export function sendProblem(context: Context, { status, view }: Problem): Response {
  if (view.retryAfterSeconds !== undefined) context.header('retry-after', String(view.retryAfterSeconds));
  return context.json(view, status as 400);
}

/**
 * Sends JSON whose memory counts against `bound` until the client has received it. If the bound is
 * reached, the oldest responses that are not yet received are cut off: their clients have stalled.
 */
export function sendJson(context: AppContext, view: object, bound: Bound, owner: string | undefined): Response {
  const { outgoing } = context.env;
  const text = new TextEncoder().encode(JSON.stringify(view));
  let held = 0;
  const holder: Holder = {
    owner,
    giveWay() {
      release();
      outgoing.destroy();
    },
  };
  const release = () => {
    bound.release(holder, held);
    held = 0;
  };
  if (!outgoing.destroyed) {
    const why = bound.take(holder, text.byteLength);
    if (why !== undefined) return sendProblem(context, why);
    held = text.byteLength;
    outgoing.once('close', release);
  }
  return context.body(text, 200, { 'content-type': 'application/json' });
}

/** Writes a table while it is read, at its reader's pace: it is never wholly in memory. */
export function streamCsv(context: AppContext, { lines, end }: Table, log: Log, takeMs: number = TAKE_MS): Response {
  const { outgoing } = context.env;
  // If nobody reads the pieces, as for HEAD, the generator does not run and cannot end the table.
  outgoing.once('close', end);
  if (outgoing.destroyed) end();
  const name = new URL(context.req.url).pathname.split('/').at(-1) ?? 'table.csv';
  context.header('content-type', 'text/csv; charset=utf-8');
  context.header('content-disposition', `attachment; filename="${name}"`);
  const broken = (error: unknown) => {
    log.warn({ err: error, path: context.req.routePath }, 'a table could not be written to its end');
    // The status has already been sent, so only a broken connection shows that the table is
    // incomplete.
    outgoing.destroy();
  };
  return context.body(ReadableStream.from(piecesOf({ lines, end }, outgoing, takeMs, broken)));
}

/** Empty pieces only serve to check whether the reader has left. */
async function* piecesOf(
  { lines, end }: Table,
  outgoing: Writable,
  takeMs: number,
  broken: (error: unknown) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  try {
    for await (const piece of lines) {
      if (outgoing.destroyed) return;
      if (piece === '') continue;
      const deadline = setTimeout(() => outgoing.destroy(), takeMs);
      try {
        yield encoder.encode(piece);
      } finally {
        clearTimeout(deadline);
      }
    }
  } catch (error) {
    broken(error);
  } finally {
    end();
  }
}
