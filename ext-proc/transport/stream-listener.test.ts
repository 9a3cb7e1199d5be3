import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeHead } from './response-head.ts';
import type { StreamConnection } from './stream-connection.ts';
import { StreamListener } from './stream-listener.ts';

let folder: string;
let socketPath: string;
let listener: StreamListener;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw stream-'));
  socketPath = join(folder, 'stream.sock');
  listener = await StreamListener.start(socketPath, (error) => {
    throw error;
  });
});
afterEach(() => {
  vi.useRealTimers();
  listener.close();
  rmSync(folder, { recursive: true, force: true });
});

function get(id: string | undefined): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, headers: id === undefined ? {} : { 'x-gw-stream': id } }, (response) => {
      let text = '';
      response.on('data', (piece) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on('error', reject);
    call.end();
  });
}

function answer(connection: StreamConnection | undefined, text: string): void {
  void connection?.answer(encodeHead({ status: 200, headers: {} }), () => undefined).end(Buffer.from(text));
}

describe('StreamListener', () => {
  test('brings a request to whom it names, once', async () => {
    const id = listener.expect((connection) => answer(connection, 'mine'));
    expect(listener.waiting).toBe(1);
    expect(await get(id)).toEqual({ status: 200, text: 'mine' });
    expect(listener.waiting).toBe(0);
    expect((await get(id)).status).toBe(500);
  });

  test.each([['AAAAAAAAAAAAAAAAAAAAAA'], [undefined], ['']])('refuses the id %s with the envelope', async (id) => {
    listener.expect(() => undefined);
    const { status, text } = await get(id);
    expect(status).toBe(500);
    expect(JSON.parse(text).error.code).toBe('internal_error');
    expect(listener.waiting).toBe(1);
  });

  test('ids are long and do not repeat', () => {
    const ids = Array.from({ length: 100 }, () => listener.expect(() => undefined));
    expect(new Set(ids).size).toBe(100);
    // 128 bits.
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{22}$/);
  });

  test('forgets who is never asked for, sooner once nothing else is left to do', async () => {
    vi.useFakeTimers();
    const outcomes: [string, StreamConnection | undefined][] = [];
    listener.expect((response) => outcomes.push(['late', response]));
    const soon = listener.expect((response) => outcomes.push(['soon', response]));
    listener.expectSoon(soon);
    await vi.advanceTimersByTimeAsync(2_001);
    expect(outcomes).toEqual([['soon', undefined]]);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(outcomes).toEqual([
      ['soon', undefined],
      ['late', undefined],
    ]);
    expect(listener.waiting).toBe(0);
  });

  test('who has come while the process stood still is served, however late that was', async () => {
    const id = listener.expect((connection) => answer(connection, 'mine'));
    listener.expectSoon(id);
    const call = `require('http').get({ socketPath: process.argv[1], headers: { 'x-gw-stream': process.argv[2] } },
      (response) => response.pipe(process.stdout))`;
    const answered = new Promise((resolve, reject) => {
      execFile(process.execPath, ['-e', call, socketPath, id], (error, out) => (error ? reject(error) : resolve(out)));
    });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    expect(await answered).toBe('mine');
  });

  test('while others come late, nobody is given up as soon', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const outcomes: unknown[] = [];
    const late = listener.expect((connection) => answer(connection, 'late'));
    const later = listener.expect((response) => outcomes.push(response));
    for (const id of [late, later]) listener.expectSoon(id);
    await vi.advanceTimersByTimeAsync(1_600);
    expect((await get(late)).text).toBe('late');
    await vi.advanceTimersByTimeAsync(1_500);
    expect(outcomes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(outcomes).toEqual([undefined]);
  });

  test('closing tells all who wait', () => {
    let told = 0;
    for (let index = 0; index < 3; index++) {
      listener.expect((response) => {
        if (response === undefined) told++;
      });
    }
    listener.close();
    expect(told).toBe(3);
  });
});
