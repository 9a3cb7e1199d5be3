import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/** The module as it runs in Envoy, with a host of a few lines. */
export const module = new WebAssembly.Module(readFileSync(join(import.meta.dirname, 'connection-bound.wasm')));

interface Exports {
  readonly memory: WebAssembly.Memory;
  proxy_on_memory_allocate(bytes: number): number;
  proxy_on_configure(context: number, bytes: number): number;
  proxy_on_new_connection(context: number): number;
  proxy_on_downstream_data(context: number, bytes: number, isLast: number): number;
  proxy_on_upstream_data(context: number, bytes: number, isLast: number): number;
  proxy_on_downstream_connection_close(context: number, by: number): void;
}

/** Data that Envoy's threads share: a value and its version for each key. */
export type SharedData = Map<number, { value: bigint; version: number }>;

/** Connections and requests that are open in all buckets of addresses, or of networks. */
export function countsOf(shared: SharedData, ofNetworks = false): { connections: number; requests: number } {
  const values = [...shared].flatMap(([key, { value }]) => (key >= BUCKETS === ofNetworks ? [value] : []));
  const sum = values.reduce((all, value) => all + value, 0n);
  return { connections: Number(sum % 2n ** 32n), requests: Number(sum / 2n ** 32n) };
}

const NOT_FOUND = 1;
const CAS_MISMATCH = 8;
const DOWNSTREAM_DATA = 2;
const FOR_CLIENT = 3;
const BUCKETS = 65_536;
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** One thread of Envoy. `interfere` runs before a value is stored, as another thread may. */
export function startThread(shared: SharedData, configuration: string, interfere = () => {}) {
  let peer = '';
  let closed = 0;
  let passing = Buffer.alloc(0);
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
    proxy_get_buffer_bytes: (kind: number, start: number, most: number, at: number, lengthAt: number) => {
      const buffer = kind === DOWNSTREAM_DATA || kind === FOR_CLIENT ? passing : Buffer.from(configuration);
      give(buffer.subarray(start, start + most), at, lengthAt);
      return 0;
    },
    proxy_get_current_time_nanoseconds: (at: number) => {
      new DataView(exports.memory.buffer).setBigUint64(at, BigInt(seconds) * 1_000_000_000n, true);
      return 0;
    },
    proxy_get_shared_data: (key: number, _bytes: number, at: number, lengthAt: number, versionAt: number) => {
      const entry = shared.get(word(key));
      if (entry === undefined) return NOT_FOUND;
      give(new Uint8Array(BigUint64Array.of(entry.value).buffer), at, lengthAt);
      new DataView(exports.memory.buffer).setUint32(versionAt, entry.version, true);
      return 0;
    },
    proxy_set_shared_data: (key: number, _bytes: number, value: number, _valueBytes: number, version: number) => {
      interfere();
      const entry = shared.get(word(key));
      if (entry !== undefined && version !== entry.version) return CAS_MISMATCH;
      shared.set(word(key), {
        value: new DataView(exports.memory.buffer).getBigUint64(value, true),
        version: (entry?.version ?? 0) + 1,
      });
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
      passing = Buffer.from(bytes);
      return staysOpen(() => exports.proxy_on_downstream_data(open.get(address) ?? 0, bytes.length, 0));
    },
    send(address: string, bytes: Uint8Array): void {
      passing = Buffer.from(bytes);
      expect(exports.proxy_on_upstream_data(open.get(address) ?? 0, bytes.length, 0)).toBe(0);
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
