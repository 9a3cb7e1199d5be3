import { stream } from 'hono/streaming';
import type { AppContext } from './serve-route.ts';

/** Written as it is read, so that a long table is never whole in memory; the reader's pace is kept. */
export function streamCsv(context: AppContext, lines: AsyncIterable<string>): Response {
  const name = new URL(context.req.url).pathname.split('/').at(-1) ?? 'table.csv';
  context.header('content-type', 'text/csv; charset=utf-8');
  context.header('content-disposition', `attachment; filename="${name}"`);
  return stream(context, async (out) => {
    for await (const piece of lines) {
      if (out.aborted) return;
      await out.write(piece);
    }
  });
}
