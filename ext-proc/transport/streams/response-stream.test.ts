import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkHead, HttpResponseStream } from './response-stream.ts';
import { StreamListener } from './stream-listener.ts';

/**
 * Requests over a real socket, answered as the test says; read by Node's own client, or byte by
 * byte.
 */
const CHUNKED = checkHead(200, { 'x-own': '1' });
const REQUEST = 'POST / HTTP/1.1\r\nhost: a\r\nx-gw-stream: ID\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n';

let folder: string;
let listener: StreamListener;
let id: string;
const path = () => join(folder, 's');
const requestText = () => REQUEST.replace('ID', id);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw-response-'));
  listener = await StreamListener.start(path(), (error) => {
    throw error;
  });
});
afterEach(() => {
  listener.close();
  rmSync(folder, { recursive: true, force: true });
});

function get(agent: Agent | false = false): Promise<IncomingMessage & { text: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: path(), agent, headers: { 'x-gw-stream': id } }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => resolve(Object.assign(response, { text: Buffer.concat(pieces).toString('latin1') })));
    });
    call.on('error', reject);
    call.end();
  });
}

/** A client that shows what comes as it is. */
function open(): { socket: Socket; text: () => string } {
  const socket = connect(path());
  let text = '';
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
  });
  socket.on('error', () => undefined);
  return { socket, text: () => text };
}

/** The response to the next request, its socket, and whether it became complete. */
function begin(
  bodyBytes?: number,
): Promise<{ response: HttpResponseStream; socket: Socket | null; over: Promise<boolean> }> {
  return new Promise((resolve) => {
    id = listener.expect((raw) => {
      if (raw === undefined) return;
      const over = Promise.withResolvers<boolean>();
      const head = bodyBytes === undefined ? CHUNKED : checkHead(200, { 'content-length': String(bodyBytes) });
      resolve({ response: new HttpResponseStream(raw, head, over.resolve), socket: raw.socket, over: over.promise });
    });
  });
}

/**
 * Writes until neither the kernel nor Node takes more of a client that does not read. Returns the
 * number of pieces.
 */
async function fill(response: HttpResponseStream, piece: Buffer): Promise<number> {
  let pieces = 0;
  for (let fullTurns = 0; fullTurns < 20; ) {
    const turn = new Promise<boolean>((resolve) => setImmediate(resolve, true));
    const wasFull = await Promise.race([response.drained().then(() => false), turn]);
    fullTurns = wasFull ? fullTurns + 1 : 0;
    if (wasFull) continue;
    pieces++;
    response.write(piece);
  }
  return pieces;
}

describe('HttpResponseStream', () => {
  test('a response in any pieces is read by another HTTP implementation as it was written', async () => {
    // Text with halves of surrogate pairs, which UTF-8 has no bytes for.
    const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code));
    const bytes = fc.uint8Array({ maxLength: 200 });
    const pieces = fc.array(fc.oneof(bytes, fc.string({ unit, maxLength: 100 })), { maxLength: 6 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    await fc.assert(
      fc.asyncProperty(pieces, bytes, fc.boolean(), fc.boolean(), async (written, last, turns, chunked) => {
        const whole = Buffer.concat([...written, last].map((piece) => Buffer.from(piece)));
        const begun = begin(chunked ? undefined : whole.length);
        const answer = get(agent);
        const { response, socket, over } = await begun;
        sockets.add(socket);
        for (const piece of written) {
          response.write(piece);
          if (turns) await new Promise((resolve) => setImmediate(resolve));
        }
        await response.end(last);
        expect(await over).toBe(true);
        expect((await answer).text).toBe(whole.toString('latin1'));
      }),
      { numRuns: 60 },
    );
    agent.destroy();
    // The connection was good for the next request after every response.
    expect(sockets.size).toBe(1);
  });

  test('large pieces arrive whole too', async () => {
    for (const bodyBytes of [undefined, 3 * 300_000]) {
      const begun = begin(bodyBytes);
      const answer = get();
      const { response } = await begun;
      response.write(Buffer.alloc(300_000, 'a'));
      // Five bytes as UTF-8.
      const text = '\u00df\ud800'.repeat(60_000);
      response.write(text);
      await response.end(Buffer.alloc(300_000, 'c'));
      expect((await answer).text).toBe(
        'a'.repeat(300_000) + Buffer.from(text).toString('latin1') + 'c'.repeat(300_000),
      );
    }
  });

  test('a head alone does not wait for the first piece', async () => {
    const begun = begin();
    const client = open();
    client.socket.write(requestText());
    const { response } = await begun;
    await expect.poll(() => client.text()).toMatch(/^HTTP\/1\.1 200 .*x-own: 1\r\n.*\r\n\r\n$/s);
    await response.end();
    await expect.poll(() => client.text().endsWith('\r\n\r\n0\r\n\r\n')).toBe(true);
  });

  test('`abort` cuts a response before its end, and does not harm the next one after it', async () => {
    const first = begin();
    const client = open();
    client.socket.write(requestText());
    const { response } = await first;
    await response.end(Buffer.from('1'));
    const second = begin();
    client.socket.write(requestText());
    const { response: next, over } = await second;
    response.abort();
    await response.end();
    expect(response.write(Buffer.from('late'))).toBe(false);
    expect(next.write(Buffer.from('two'))).toBe(true);
    await expect.poll(() => client.text()).toContain('two');
    next.abort();
    next.abort();
    expect(await over).toBe(false);
    await expect.poll(() => client.socket.destroyed).toBe(true);
    expect(client.text().endsWith('3\r\ntwo\r\n')).toBe(true);
    expect(client.text()).not.toContain('late');
  });

  test('a client that does not read is waited for', async () => {
    const begun = begin();
    const client = open();
    client.socket.pause().write(requestText());
    const { response, over } = await begun;
    const piece = Buffer.alloc(50_000, 'z');
    expect(response.hasUnsent).toBe(false);
    const pieces = await fill(response, piece);
    expect(pieces).toBeLessThan(1_000);
    expect(response.hasUnsent).toBe(true);
    let drained = 0;
    const waits = [1, 2].map(() => response.drained().then(() => drained++));
    const ended = response.end();
    let done = false;
    void ended.then(() => {
      done = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([drained, done]).toEqual([0, false]);
    client.socket.resume();
    await Promise.all([...waits, ended]);
    expect(await over).toBe(true);
    await expect.poll(() => client.text().split('z').length - 1).toBe(pieces * 50_000);
  });

  test('a client that leaves without having read ends every wait', async () => {
    const begun = begin();
    const client = open();
    client.socket.pause().write(requestText());
    const { response, over } = await begun;
    await fill(response, Buffer.alloc(50_000));
    const waits = [response.drained(), response.end()];
    client.socket.destroy();
    await Promise.all(waits);
    expect(await over).toBe(false);
    await response.drained();
    expect(response.write(Buffer.from('late'))).toBe(false);
  });

  test('a body of another length than its head says is a bug, and never looks complete', async () => {
    const begun = begin(3);
    const client = open();
    client.socket.write(requestText());
    const { response, over } = await begun;
    expect(() => response.end(Buffer.from('four'))).toThrow(/Content-Length/i);
    response.abort();
    expect(await over).toBe(false);
  });

  test.each([
    ['a line end', { a: 'b\r\nc: d' }],
    ['a zero byte', { a: '\0' }],
    ['a letter beyond Latin-1', { a: '€' }],
    ['a name with a colon', { 'a:': 'b' }],
    ['no name', { '': 'b' }],
  ])('%s in a header is a bug, found before the request is routed', (_, headers) => {
    expect(() => checkHead(200, headers)).toThrow(/header/i);
  });
});
