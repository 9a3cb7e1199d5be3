import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';

/** The module as it runs in Envoy, with a host of a few lines: what one address may have open, on all threads together. */
const module = new WebAssembly.Module(readFileSync(join(import.meta.dirname, 'connection-bound.wasm')));

interface Exports {
  readonly memory: WebAssembly.Memory;
  proxy_on_memory_allocate(bytes: number): number;
  proxy_on_configure(context: number, bytes: number): number;
  proxy_on_new_connection(context: number): number;
  proxy_on_downstream_connection_close(context: number, by: number): void;
}

/** Data that Envoy's threads share: a value and its version for each key. */
type SharedData = Map<number, { value: number; version: number }>;

const NOT_FOUND = 1;
const CAS_MISMATCH = 8;

/** One thread of Envoy. `interfere` runs before a value is stored, as another thread may. */
function startThread(shared: SharedData, configuration: string, interfere = () => {}) {
  let peer = '';
  let closed = 0;
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
    proxy_get_buffer_bytes: (_kind: number, _start: number, _most: number, at: number, lengthAt: number) => {
      give(Buffer.from(configuration), at, lengthAt);
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
  return {
    /** True: the connection stays open. */
    open(address: string): boolean {
      peer = address;
      const before = closed;
      const status = exports.proxy_on_new_connection(2);
      expect(status).toBe(closed - before);
      return status === 0;
    },
    close(address: string): void {
      peer = address;
      exports.proxy_on_downstream_connection_close(2, 0);
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
      for (const turn of turns) {
        const oldest = turn === 0 ? open.shift() : undefined;
        if (oldest !== undefined) thread.close(oldest);
        else thread.open(open[open.push(`198.51.100.${turn}:1`) - 1] ?? '');
      }
      const counted = [...shared.values()].reduce((sum, { value }) => sum + value, 0);
      expect(counted).toBe(open.length);
    }),
  );
});
