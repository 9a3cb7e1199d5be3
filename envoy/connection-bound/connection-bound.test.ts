import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { END_STREAM, FRAME, frame } from '../../test/harness/raw-http2.ts';

/**
 * The module as it runs in Envoy, with a host of a few lines: what one address may have open, on
 * all threads together.
 */
const module = new WebAssembly.Module(readFileSync(join(import.meta.dirname, 'connection-bound.wasm')));

interface Exports {
  readonly memory: WebAssembly.Memory;
  proxy_on_memory_allocate(bytes: number): number;
  proxy_on_configure(context: number, bytes: number): number;
  proxy_on_new_connection(context: number): number;
  proxy_on_downstream_data(context: number, bytes: number, isLast: number): number;
  proxy_on_downstream_connection_close(context: number, by: number): void;
}

/** Data that Envoy's threads share: a value and its version for each key. */
type SharedData = Map<number, { value: number; version: number }>;

const NOT_FOUND = 1;
const CAS_MISMATCH = 8;
const DOWNSTREAM_DATA = 2;
const MOST_TINY = 100_000;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** One thread of Envoy. `interfere` runs before a value is stored, as another thread may. */
function startThread(shared: SharedData, configuration: string, interfere = () => {}) {
  let peer = '';
  let closed = 0;
  let received = Buffer.alloc(0);
  let seconds = 1;
  let contexts = 1;
  const open = new Map<string, number>();
  const give = (content: Uint8Array, at: number, lengthAt: number): void => {
    const pointer = exports.proxy_on_memory_allocate(content.length);
    new Uint8Array(exports.memory.buffer).set(content, pointer);
    const view = new DataView(exports.memory.buffer);
    view.setUint32(at, pointer, true);
    view.setUint32(lengthAt, content.length, true);
  };
  const word = (at: number): number => new DataView(exports.memory.buffer).getUint32(at, true);
  const env = {
    proxy_get_property: (_path: number, _bytes: number, at: number, lengthAt: number) => {
      give(Buffer.from(peer), at, lengthAt);
      return 0;
    },
    proxy_get_buffer_bytes: (kind: number, _start: number, _most: number, at: number, lengthAt: number) => {
      give(kind === DOWNSTREAM_DATA ? received : Buffer.from(configuration), at, lengthAt);
      return 0;
    },
    proxy_get_current_time_nanoseconds: (at: number) => {
      new DataView(exports.memory.buffer).setBigUint64(at, BigInt(seconds) * 1_000_000_000n, true);
      return 0;
    },
    proxy_get_shared_data: (key: number, _bytes: number, at: number, lengthAt: number, versionAt: number) => {
      const entry = shared.get(word(key));
      if (entry === undefined) return NOT_FOUND;
      give(new Uint8Array(Uint32Array.of(entry.value).buffer), at, lengthAt);
      new DataView(exports.memory.buffer).setUint32(versionAt, entry.version, true);
      return 0;
    },
    proxy_set_shared_data: (key: number, _bytes: number, value: number, _valueBytes: number, version: number) => {
      interfere();
      const entry = shared.get(word(key));
      if (entry !== undefined && version !== entry.version) return CAS_MISMATCH;
      shared.set(word(key), { value: word(value), version: (entry?.version ?? 0) + 1 });
      return 0;
    },
    proxy_close_stream: () => {
      closed++;
      return 0;
    },
  };
  const exports = new WebAssembly.Instance(module, { env }).exports as unknown as Exports;
  expect(exports.proxy_on_configure(1, configuration.length)).toBe(1);
  const staysOpen = (call: () => number): boolean => {
    const before = closed;
    const status = call();
    expect(status).toBe(closed - before);
    return status === 0;
  };
  return {
    /** True: the connection stays open. */
    open(address: string): boolean {
      peer = address;
      contexts++;
      open.set(address, contexts);
      return staysOpen(() => exports.proxy_on_new_connection(contexts));
    },
    /** True: the connection stays open. */
    receive(address: string, bytes: Uint8Array): boolean {
      received = Buffer.from(bytes);
      return staysOpen(() => exports.proxy_on_downstream_data(open.get(address) ?? 0, bytes.length, 0));
    },
    close(address: string): void {
      exports.proxy_on_downstream_connection_close(open.get(address) ?? 0, 0);
      open.delete(address);
    },
    nextSecond(): void {
      seconds++;
    },
  };
}

test('is compiled from the source beside it', () => {
  const [section] = WebAssembly.Module.customSections(module, 'source-sha256');
  const source = readFileSync(join(import.meta.dirname, 'connection-bound.as'));
  expect(Buffer.from(section ?? new ArrayBuffer(0)).toString()).toBe(hash('sha256', source));
});

test('an address has so many connections over all threads, and another one its own', () => {
  const shared: SharedData = new Map();
  const threads = [startThread(shared, '3 42'), startThread(shared, '3 42')] as const;
  expect(threads[0].open('192.0.2.1:1000')).toBe(true);
  expect(threads[1].open('192.0.2.1:1001')).toBe(true);
  expect(threads[0].open('192.0.2.1:1002')).toBe(true);
  expect(threads[1].open('192.0.2.1:1003')).toBe(false);
  expect(threads[1].open('192.0.2.2:1003')).toBe(true);
  // The refused one closes, too.
  threads[1].close('192.0.2.1:1003');
  expect(threads[0].open('192.0.2.1:1004')).toBe(false);
  threads[0].close('192.0.2.1:1004');
  threads[0].close('192.0.2.1:1000');
  expect(threads[1].open('192.0.2.1:1005')).toBe(true);
});

test.each([
  ['one /64 is one client', '[2001:db8:1:2::1]:99', '[2001:db8:1:2:ffff:1:2:3]:99', true],
  ['the next /64 is another', '[2001:db8:1:2::1]:99', '[2001:db8:1:3::1]:99', false],
  ['zeros left out are zeros', '[2001:db8::1]:99', '[2001:db8:0:0:5::1]:99', true],
  ['a mapped IPv4 address is that address', '[::ffff:192.0.2.1]:99', '192.0.2.1:99', true],
  ['mapped addresses are told apart', '[::ffff:192.0.2.1]:99', '[::ffff:192.0.2.2]:99', false],
])('%s', (_, first, second, same) => {
  const thread = startThread(new Map(), '1 7');
  expect(thread.open(first)).toBe(true);
  expect(thread.open(second)).toBe(!same);
});

test('a change by another thread between reading and storing is not lost', () => {
  const shared: SharedData = new Map();
  let others = 2;
  const other = startThread(shared, '100 1');
  const thread = startThread(shared, '100 1', () => {
    if (others-- > 0) other.open('192.0.2.1:1');
  });
  thread.open('192.0.2.1:2');
  expect([...shared.values()].map(({ value }) => value)).toEqual([3]);
});

test('the seed decides which addresses share a bucket', () => {
  const bucket = (seed: number, address: string): number | undefined => {
    const shared: SharedData = new Map();
    startThread(shared, `9 ${seed}`).open(address);
    return shared.keys().next().value;
  };
  const addresses = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}:1`);
  const places = (seed: number) => addresses.map((address) => bucket(seed, address));
  expect(new Set(places(1)).size).toBeGreaterThan(190);
  expect(places(1)).not.toEqual(places(2));
});

test('whatever comes and goes, the count is what is open', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 4 }), { maxLength: 200 }), (turns) => {
      const shared: SharedData = new Map();
      const thread = startThread(shared, '1000 3');
      const open: string[] = [];
      let opened = 0;
      for (const turn of turns) {
        const oldest = turn === 0 ? open.shift() : undefined;
        if (oldest !== undefined) thread.close(oldest);
        else thread.open(open[open.push(`198.51.100.${turn}:${opened++}`) - 1] ?? '');
      }
      const counted = [...shared.values()].reduce((sum, { value }) => sum + value, 0);
      expect(counted).toBe(open.length);
    }),
  );
});

describe('tiny DATA frames', () => {
  const one = frame(FRAME.data, 0, 1, Buffer.from('a'));
  const tiny = (count: number) => Buffer.alloc(count * one.length, one);
  const start = () => {
    const thread = startThread(new Map(), '10 1');
    for (const address of ['192.0.2.1:1', '192.0.2.1:2', '192.0.2.2:1']) {
      thread.open(address);
      expect(thread.receive(address, PREFACE)).toBe(true);
    }
    return thread;
  };

  test('close the connection that goes beyond what its address has in a second', () => {
    const thread = start();
    expect(thread.receive('192.0.2.1:1', tiny(MOST_TINY - 1))).toBe(true);
    expect(thread.receive('192.0.2.1:2', tiny(1))).toBe(true);
    expect(thread.receive('192.0.2.1:2', tiny(1))).toBe(false);
    expect(thread.receive('192.0.2.2:1', tiny(MOST_TINY))).toBe(true);
    thread.nextSecond();
    expect(thread.receive('192.0.2.1:1', tiny(MOST_TINY))).toBe(true);
  });

  test.each([
    ['the last of their bodies', frame(FRAME.data, END_STREAM, 1, Buffer.from('a'))],
    ['larger', frame(FRAME.data, 0, 1, Buffer.alloc(64))],
    ['of another type, whatever they hold', frame(FRAME.headers, 0, 1, one)],
    ['inside the content of others', frame(FRAME.data, 0, 1, tiny(100))],
  ])('are not counted where they are %s', (_, other) => {
    const thread = start();
    const many = Buffer.alloc(1000 * other.length, other);
    for (let round = 0; round < 200; round++) expect(thread.receive('192.0.2.1:1', many)).toBe(true);
  });

  test('are not looked for in another protocol', () => {
    const thread = startThread(new Map(), '10 1');
    thread.open('192.0.2.1:1');
    expect(thread.receive('192.0.2.1:1', Buffer.from('PRESENT /v1 HTTP/1.1\r\n\r\n'))).toBe(true);
    expect(thread.receive('192.0.2.1:1', tiny(2 * MOST_TINY))).toBe(true);
  });

  test('are counted however the bytes are cut', () => {
    const frames = [
      one,
      frame(FRAME.data, 0, 1, Buffer.alloc(63)),
      frame(FRAME.settings, 0, 0),
      frame(FRAME.data, 0, 3),
    ];
    const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 60 }), cuts, (kinds, pieces) => {
        const thread = startThread(new Map(), '10 1');
        thread.open('192.0.2.1:1');
        const bytes = Buffer.concat([PREFACE, ...kinds.map((kind) => frames[kind] ?? one)]);
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = pieces[turn % pieces.length] ?? 1;
          expect(thread.receive('192.0.2.1:1', bytes.subarray(at, at + size))).toBe(true);
          at += size;
        }
        const counted = kinds.filter((kind) => kind !== 2).length;
        expect(thread.receive('192.0.2.1:1', tiny(MOST_TINY - counted))).toBe(true);
        expect(thread.receive('192.0.2.1:1', tiny(1))).toBe(false);
      }),
    );
  });
});
