import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { Context } from 'hono';

/** The built page in memory, by path, so that no request path reaches the file system. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

/** Shared by all responses: copies would stay in memory for clients that do not read them. */
type Content = Buffer<ArrayBuffer>;

export interface StaticFile {
  readonly type: string;
  readonly etag: string;
  /** True if the file name contains a hash of the content. */
  readonly immutable: boolean;
  readonly plain: Content;
  /** Both are made by the build, for files that become smaller (dashboard/web/vite.config.ts). */
  readonly gzip?: Content | undefined;
  readonly brotli?: Content | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.md': 'text/markdown; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

/** Empty if the folder is missing, because the page has not been built. */
export async function loadStaticFiles(folder: string): Promise<StaticFiles> {
  const files = new Map<string, StaticFile>();
  for (const path of await filesBelow(folder)) {
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    files.set(`/${relative(folder, path)}`, await loadFile(path, type));
  }
  return files;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = (await ifThere(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function loadFile(path: string, type: string): Promise<StaticFile> {
  return {
    ...fileOf(type, await readFile(path)),
    immutable: path.includes('/assets/'),
    gzip: await readIfThere(`${path}.gz`),
    brotli: await readIfThere(`${path}.br`),
  };
}

export function fileOf(type: string, content: string | Uint8Array): StaticFile {
  const plain = Buffer.from(content);
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return { type, etag, immutable: false, plain };
}

const readIfThere = (path: string): Promise<Content | undefined> => ifThere(readFile(path));

async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

const YEAR_SECONDS = 31_536_000;

export function serveFile(context: Context, file: StaticFile): Response {
  const { body, encoding } = chooseBody(file, context.req.header('accept-encoding') ?? '');
  context.header('content-type', file.type);
  context.header('etag', file.etag);
  context.header('vary', 'accept-encoding');
  context.header('cache-control', file.immutable ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache');
  if (context.req.header('if-none-match') === file.etag) return context.body(null, 304);
  if (encoding !== undefined) context.header('content-encoding', encoding);
  return context.body(body);
}

function chooseBody(file: StaticFile, accepted: string): { body: Content; encoding?: string } {
  if (file.brotli !== undefined && /\bbr\b/.test(accepted)) return { body: file.brotli, encoding: 'br' };
  if (file.gzip !== undefined && /\bgzip\b/.test(accepted)) return { body: file.gzip, encoding: 'gzip' };
  return { body: file.plain };
}
