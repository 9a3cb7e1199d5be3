import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createLog, type Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { asStatementError } from '#database/connection/unavailable.ts';
import { createApp } from './app.ts';
import type { Deps, Route } from './http/route.ts';
import { loadStaticFiles } from './http/static-files.ts';
import { type Listener, listenOn } from './listen.ts';

const PAGE = '<!doctype html><title>Inference Gateway</title>';
const SCRIPT = 'export const numbers = "1234567890";\n'.repeat(200);

const folder = mkdtempSync(join(tmpdir(), 'gw-page-'));
let listener: Listener;
let origin: string;

/** No session is involved, so no database is queried. */
const DEPS = {
  settings: () => ({ api: { host: '::', port: 8080 }, apiSpeaksTls: false, trustedProxies: [] }),
} as unknown as Deps;

function routeTo(path: string, serve: Route['serve']): Route {
  return { method: 'GET', path, access: 'anyone', input: z.strictObject({}), kind: 'json', serve };
}

function lacking(code: string, message: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code });
}

const ROUTES = [
  routeTo('/api/defect', () => Promise.reject(new Error('sk-gw-secret in a message'))),
  routeTo('/api/away', () => Promise.reject(new StoreUnavailable('host=10.1.2.3 is not reachable'))),
];

beforeAll(async () => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), PAGE);
  const script = join(folder, 'assets', 'main-abc123.js');
  writeFileSync(script, SCRIPT);
  writeFileSync(`${script}.br`, brotliCompressSync(SCRIPT));
  writeFileSync(`${script}.gz`, gzipSync(SCRIPT));
  writeFileSync(join(folder, 'notes.txt'), 'no part of a page');
  const app = createApp(ROUTES, DEPS, await loadStaticFiles(folder), createLog('silent'));
  listener = await listenOn(app, { host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${listener.port}`;
});
afterAll(async () => {
  await listener.close();
  rmSync(folder, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${origin}${path}`, { headers });

describe('a failure', () => {
  it('reveals no details', async () => {
    const response = await get('/api/defect');
    expect(response.status).toBe(500);
    const message = 'Something failed on our side. It has been logged.';
    expect(await response.json()).toEqual({ problem: 'internal', message });
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('is logged, unless the client left during its body', async () => {
    const lines: string[] = [];
    const log = { error: (_: object, message: string) => lines.push(message) } as unknown as Log;
    const posted = { ...routeTo('/api/defect', () => Promise.reject(new Error('ours'))), method: 'POST' };
    const watched = await listenOn(createApp([posted], DEPS, await loadStaticFiles(folder), log), {
      host: '127.0.0.1',
      port: 0,
    });
    const path = `http://127.0.0.1:${watched.port}/api/defect`;
    for (const framing of [{ 'content-length': '2' }, { 'transfer-encoding': 'chunked' }]) {
      const leaving = request(path, { method: 'POST', headers: { 'sec-fetch-site': 'same-origin', ...framing } });
      leaving.on('error', () => undefined);
      const left = new Promise((resolve) => leaving.on('close', resolve));
      leaving.write('{', () => leaving.destroy());
      await left;
    }
    const whole = await fetch(path, { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } });
    expect([whole.status, lines]).toEqual([500, ['a request of the dashboard failed']]);
    await watched.close();
  });

  it('of the database asks the client to retry later', async () => {
    const response = await get('/api/away');
    expect(response.status).toBe(503);
    const message = 'The database does not respond at the moment.';
    expect(response.headers.get('retry-after')).toBe('5');
    expect(await response.json()).toEqual({ problem: 'unavailable', message, retryAfterSeconds: 5 });
  });

  it.each([
    ['warn', new StoreUnavailable('not reachable')],
    ['error', asStatementError(lacking('42P01', 'relation "top_ups" does not exist'))],
    ['error', asStatementError(lacking('42501', 'permission denied for table top_ups'))],
    ['error', asStatementError(lacking('42883', 'function tell() does not exist'))],
  ])('of the database is logged as %s with its route and its cause: %s', async (level, err) => {
    const lines: unknown[] = [];
    const at = (name: string) => (fields: object) => lines.push([name, fields]);
    const log = { warn: at('warn'), error: at('error') } as unknown as Log;
    const app = createApp([routeTo('/api/lacking', () => Promise.reject(err))], DEPS, new Map(), log);
    const response = await app.request('/api/lacking', {}, { incoming: { socket: {}, headers: {} } });
    expect([response.status, lines]).toEqual([503, [[level, { err, path: '/api/lacking' }]]]);
  });
});

describe('the page', () => {
  it.each([['/'], ['/sign-in'], ['/o/org-1/keys'], ['/link']])('is served at %s', async (path) => {
    const response = await get(path);
    expect([response.status, await response.text()]).toEqual([200, PAGE]);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    // The browser revalidates it each time.
    expect(response.headers.get('cache-control')).toBe('no-cache');
  });

  it('is not sent again to a browser that has it', async () => {
    const etag = (await get('/')).headers.get('etag') ?? '';
    const response = await get('/', { 'if-none-match': etag });
    expect([response.status, await response.text()]).toEqual([304, '']);
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect((await get('/', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('has files that may be cached forever, because their names change', async () => {
    const response = await get('/assets/main-abc123.js');
    expect(await response.text()).toBe(SCRIPT);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    ['/assets/main-000000.js'],
    ['/favicon.ico'],
    ['/notes.txt'],
    ['/assets/'],
    ['/assets/main-abc123.js.br'],
    ['/assets/..%2f..%2fpackage.json'],
    ['/..%2fpackage.json'],
  ])('has no file %s', async (path) => {
    const response = await get(path);
    expect([response.status, await response.text()]).toEqual([404, 'There is no such file.\n']);
  });

  it('keeps its files in memory once, however many responses are in progress', async () => {
    const app = createApp([], DEPS, await loadStaticFiles(folder), createLog('silent'));
    const env = { incoming: { socket: {} } };
    const ask = () => app.request('/assets/main-abc123.js', {}, env);
    const allocated = () => process.memoryUsage().arrayBuffers;
    const before = allocated();
    const responses = await Promise.all(Array.from({ length: 2_000 }, ask));
    const taken = allocated() - before;
    for (const response of responses) expect(await response.text()).toBe(SCRIPT);
    // Copies would be 14 MB.
    expect(taken).toBeLessThan(1_000_000);
  });

  it.each<[string, string | null, (body: Buffer) => Buffer]>([
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['identity', null, (body) => body],
  ])('is sent to a browser that accepts %s encoded as %s', async (accepted, encoding, decode) => {
    const response = await rawBody('/assets/main-abc123.js', accepted);
    expect(response.encoding).toBe(encoding);
    expect(response.vary).toBe('accept-encoding');
    expect(decode(response.body).toString()).toBe(SCRIPT);
  });

  it('is sent uncompressed if compression does not make it smaller', async () => {
    const response = await rawBody('/', 'gzip, br');
    expect([response.encoding, response.body.toString()]).toEqual([null, PAGE]);
  });

  /** `fetch` would decode the body. */
  function rawBody(path: string, accepted: string) {
    return new Promise<{ body: Buffer; encoding: string | null; vary: string | undefined }>((resolve, reject) => {
      request(`${origin}${path}`, { headers: { 'accept-encoding': accepted } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const { vary, 'content-encoding': encoding = null } = response.headers;
          resolve({ body: Buffer.concat(chunks), encoding, vary });
        });
      })
        .on('error', reject)
        .end();
    });
  }
});

describe('a page that was not built', () => {
  it('explains how to build it', async () => {
    const app = createApp([], DEPS, await loadStaticFiles(join(folder, 'missing')), createLog('silent'));
    const bare = await listenOn(app, { host: '127.0.0.1', port: 0 });
    const response = await fetch(`http://127.0.0.1:${bare.port}/`);
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('node scripts/setup.mjs')]);
    await bare.close();
  });
});

describe('the listener', () => {
  it('reports an address on which it cannot listen', async () => {
    const app = createApp([], DEPS, await loadStaticFiles(folder), createLog('silent'));
    await expect(listenOn(app, { host: '127.0.0.1', port: listener.port })).rejects.toThrow('EADDRINUSE');
  });
});
