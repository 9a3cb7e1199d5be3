import type { Context } from 'hono';
import type { StaticFile } from './static-files.ts';

const YEAR_SECONDS = 31_536_000;

export function serveFile(context: Context, file: StaticFile): Response {
  const { body, encoding } = chooseBody(file, context.req.header('accept-encoding') ?? '');
  context.header('content-type', file.type);
  context.header('etag', file.etag);
  context.header('vary', 'accept-encoding');
  context.header('cache-control', file.immutable ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache');
  if (context.req.header('if-none-match') === file.etag) return context.body(null, 304);
  if (encoding !== undefined) context.header('content-encoding', encoding);
  return context.body(new Uint8Array(body));
}

function chooseBody(file: StaticFile, accepted: string): { body: Buffer; encoding?: string } {
  if (/\bbr\b/.test(accepted)) return { body: file.brotli, encoding: 'br' };
  if (/\bgzip\b/.test(accepted)) return { body: file.gzip, encoding: 'gzip' };
  return { body: file.plain };
}
