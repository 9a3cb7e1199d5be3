import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BorrowedBytes } from './borrowed-bytes.ts';
import { waitFor } from './frames.fixture.ts';
import { withReusedReads } from './reused-reads.ts';

const BUFFER = Buffer.allocUnsafeSlow(4096);
let folder: string;
let path: string;
let server: Server;
let served: Socket | undefined;
let reads: { readonly bytes: BorrowedBytes; readonly text: string }[];
let nodeVersion: string;

function record(bytes: BorrowedBytes, length: number): void {
  reads.push({ bytes, text: bytes.toString('latin1', 0, length) });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw-reads-'));
  path = join(folder, 'a.sock');
  nodeVersion = process.versions.node;
  reads = [];
  served = undefined;
  server = createServer({ pauseOnConnect: true }, (accepted) => {
    served = withReusedReads(accepted, BUFFER, record, nodeVersion);
  });
  server.listen(path);
  await once(server, 'listening');
});
afterEach(() => {
  served?.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});

test('reads everything into the same memory, on each version of Node on the list', async () => {
  const client = connect(path);
  const sent = 'abcdefghij'.repeat(5_000);
  client.write(sent);
  await waitFor(() => reads.reduce((sum, { text }) => sum + text.length, 0) === sent.length);
  expect(reads.map(({ text }) => text).join('')).toBe(sent);
  for (const { bytes } of reads) expect(bytes).toBe(BUFFER);
  client.destroy();
});

test('is a socket like any other: it writes, and gets the end', async () => {
  const client = connect(path);
  await waitFor(() => served !== undefined);
  const events: string[] = [];
  served?.on('end', () => events.push('end')).on('close', () => events.push('close'));
  served?.write('hello');
  const [hello] = await once(client, 'data');
  expect(String(hello)).toBe('hello');
  client.end();
  await waitFor(() => events.length === 2);
  expect(events).toEqual(['end', 'close']);
});

test('lets its server close, without a trace of the accepted socket', async () => {
  const client = connect(path);
  await waitFor(() => served !== undefined);
  server.close();
  await once(server, 'close');
  client.write('still read');
  await waitFor(() => reads.length === 1);
  client.destroy();
});

test('reads the ordinary way on a version of Node that is not on the list', async () => {
  nodeVersion = '99.0.0';
  const client = connect(path);
  client.write('hello');
  await waitFor(() => reads.length === 1);
  expect(reads[0]?.text).toBe('hello');
  expect(reads[0]?.bytes).not.toBe(BUFFER);
  client.destroy();
});

test('reads the ordinary way if Node has no handle', async () => {
  const accepted = new PassThrough() as unknown as Socket;
  expect(withReusedReads(accepted, BUFFER, record)).toBe(accepted);
  accepted.write('hello');
  await waitFor(() => reads.length === 1);
  expect(reads[0]?.text).toBe('hello');
});
