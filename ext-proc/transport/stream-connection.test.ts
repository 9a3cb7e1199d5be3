import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeHead } from './response-head.ts';
import type { HttpResponseStream } from './response-stream.ts';
import { StreamConnection } from './stream-connection.ts';

/** Requests over a real socket, answered by what the test says; read by Node's own client, or byte by byte. */
type OnRequest = (connection: StreamConnection, id: string) => void;

const CHUNKED = encodeHead({ status: 200, headers: { 'x-own': '1' } });
const REQUEST = 'POST / HTTP/1.1\r\nx-gw-stream: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n';

let folder: string;
let server: Server;
let onRequest: OnRequest;
let closed: StreamConnection[];
const sockets: Socket[] = [];
const path = () => join(folder, 's');

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw-connection-'));
  const gone: StreamConnection[] = [];
  closed = gone;
  server = createServer((socket) => {
    sockets.push(socket);
    const connection = new StreamConnection(
      socket,
      'x-gw-stream',
      (id) => onRequest(connection, id),
      () => gone.push(connection),
    );
  });
  await new Promise<void>((resolve) => server.listen(path(), resolve));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function get(agent: Agent | false = false): Promise<IncomingMessage & { text: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: path(), agent, headers: { 'x-gw-stream': 'a' } }, (response) => {
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

/** The response to one request, and how it was over. */
function begin(bodyBytes?: number): Promise<{ response: HttpResponseStream; over: Promise<boolean> }> {
  return new Promise((resolve) => {
    onRequest = (connection) => {
      const over = Promise.withResolvers<boolean>();
      const head =
        bodyBytes === undefined
          ? CHUNKED
          : { text: `HTTP/1.1 200 \r\ncontent-length: ${bodyBytes}\r\n\r\n`, bodyBytes };
      resolve({ response: connection.answer(head, over.resolve), over: over.promise });
    };
  });
}

describe('StreamConnection', () => {
  test('an answer in any pieces is read by another HTTP as it was written', async () => {
    // Text with halves of surrogate pairs, which UTF-8 has no bytes for.
    const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code));
    const bytes = fc.uint8Array({ maxLength: 200 });
    const pieces = fc.array(fc.oneof(bytes, fc.string({ unit, maxLength: 100 })), { maxLength: 6 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await fc.assert(
      fc.asyncProperty(pieces, bytes, fc.boolean(), fc.boolean(), async (written, last, turns, chunked) => {
        const whole = Buffer.concat([...written, last].map((piece) => Buffer.from(piece)));
        const begun = begin(chunked ? undefined : whole.length);
        const answer = get(agent);
        const { response, over } = await begun;
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
    // Whatever was written, the connection was good for the next.
    expect(sockets.length).toBe(1);
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

  test('head and first piece of one turn are one write, and a head alone does not wait', async () => {
    const begun = begin();
    const client = open();
    client.socket.write(REQUEST);
    const { response } = await begun;
    const write = vi.spyOn(sockets[0] as Socket, 'write');
    response.write(Buffer.from('abc'));
    expect(write.mock.calls.map(([bytes]) => String(bytes))).toEqual([`${CHUNKED.text}3\r\nabc\r\n`]);
    await response.end();
    expect(String(write.mock.calls[1]?.[0])).toBe('0\r\n\r\n');

    const alone = begin();
    client.socket.write(REQUEST);
    await alone;
    await expect.poll(() => client.text().endsWith(`0\r\n\r\n${CHUNKED.text}`)).toBe(true);
  });

  test('requests that do not wait for answers get them one after another', async () => {
    const begun: HttpResponseStream[] = [];
    onRequest = (connection) => void begun.push(connection.answer(CHUNKED, () => undefined));
    const client = open();
    client.socket.write(REQUEST.repeat(3));
    for (let index = 0; index < 3; index++) {
      await expect.poll(() => begun.length).toBe(index + 1);
      await begun[index]?.end(Buffer.from(`answer ${index}`));
    }
    await expect.poll(() => client.text().match(/answer \d/g)).toEqual(['answer 0', 'answer 1', 'answer 2']);
  });

  test('breaking off after the end does no harm to the next answer, and before it cuts', async () => {
    const first = begin();
    const client = open();
    client.socket.write(REQUEST);
    const { response } = await first;
    await response.end(Buffer.from('1'));
    const second = begin();
    client.socket.write(REQUEST);
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
    expect(closed.length).toBe(1);
  });

  test('who does not read is waited for', async () => {
    const begun = begin();
    const client = open();
    client.socket.pause().write(REQUEST);
    const { response, over } = await begun;
    const piece = Buffer.alloc(50_000, 'z');
    let pieces = 1;
    while (response.write(piece) && pieces < 1_000) pieces++;
    expect(pieces).toBeLessThan(1_000);
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

  test('who leaves without having read ends every wait', async () => {
    const begun = begin();
    const client = open();
    client.socket.pause().write(REQUEST);
    const { response, over } = await begun;
    while (response.write(Buffer.alloc(50_000)));
    const waits = [response.drained(), response.end()];
    client.socket.destroy();
    await Promise.all(waits);
    expect(await over).toBe(false);
    await response.drained();
    expect(response.write(Buffer.from('late'))).toBe(false);
  });

  test('a body that is not what its head says is a bug, and nothing is read as its end', async () => {
    const begun = begin(3);
    const client = open();
    client.socket.write(REQUEST);
    const { response, over } = await begun;
    expect(() => response.end(Buffer.from('four'))).toThrow(/4 bytes/);
    response.abort();
    expect(await over).toBe(false);
  });

  test.each([
    ['at once', 'nonsense\r\n\r\n'],
    ['within an answer', `${REQUEST}\n\n`],
    ['in a body', REQUEST.replace('\r\n0\r\n', '\r\nx\r\n')],
  ])('garbage %s closes the connection', async (_, text) => {
    onRequest = (connection) => void connection.answer(CHUNKED, () => undefined).end();
    const client = open();
    client.socket.write(text);
    await expect.poll(() => [client.socket.destroyed, closed.length]).toEqual([true, 1]);
  });
});
