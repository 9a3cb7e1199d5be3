import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
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

function answer(response: ServerResponse | undefined, text: string): void {
  response?.end(text);
}

describe('StreamListener', () => {
  test('brings a request to the exchange that it names, once', async () => {
    const id = listener.expect((response) => answer(response, 'mine'));
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

  test('aborts the wait for a request that never comes, sooner once the ext_proc stream has ended', async () => {
    vi.useFakeTimers();
    const outcomes: [string, ServerResponse | undefined][] = [];
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

  test('a request that came while the process stood still is served, however late that was', async () => {
    const id = listener.expect((response) => answer(response, 'mine'));
    listener.expectSoon(id);
    const call = `require('http').get({ socketPath: process.argv[1], headers: { 'x-gw-stream': process.argv[2] } },
      (response) => response.pipe(process.stdout))`;
    const answered = new Promise((resolve, reject) => {
      execFile(process.execPath, ['-e', call, socketPath, id], (error, out) => (error ? reject(error) : resolve(out)));
    });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    expect(await answered).toBe('mine');
  });

  test('while others arrive late, waits last longer', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const outcomes: unknown[] = [];
    const late = listener.expect((response) => answer(response, 'late'));
    const later = listener.expect((response) => outcomes.push(response));
    for (const id of [late, later]) listener.expectSoon(id);
    await vi.advanceTimersByTimeAsync(1_600);
    expect((await get(late)).text).toBe('late');
    await vi.advanceTimersByTimeAsync(1_500);
    expect(outcomes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(outcomes).toEqual([undefined]);
  });

  test('closing ends all waits', () => {
    let ended = 0;
    for (let index = 0; index < 3; index++) {
      listener.expect((response) => {
        if (response === undefined) ended++;
      });
    }
    listener.close();
    expect(ended).toBe(3);
  });
});
