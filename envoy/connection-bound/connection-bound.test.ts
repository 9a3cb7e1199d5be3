import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { END_STREAM, FRAME, frame } from '#test/harness/raw-http2.ts';
import { countsOf, module, PREFACE, type SharedData, startThread } from './envoy-host.fixture.ts';

const MOST_TINY = 100_000;

test('is compiled from the sources beside it', () => {
  const [section] = WebAssembly.Module.customSections(module, 'source-sha256');
  const names = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.as'))
    .sort();
  const source = Buffer.concat(names.map((name) => readFileSync(join(import.meta.dirname, name))));
  expect(Buffer.from(section ?? new ArrayBuffer(0)).toString()).toBe(hash('sha256', source));
});

test('an address has a bound on its connections over all threads, and each address its own', () => {
  const shared: SharedData = new Map();
  const threads = [startThread(shared, '3 0 42'), startThread(shared, '3 0 42')] as const;
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
  const thread = startThread(new Map(), '1 0 7');
  expect(thread.open(first)).toBe(true);
  expect(thread.open(second)).toBe(!same);
});

test('a /48 has ten times as many as one of its /64, and the next /48 its own', () => {
  const shared: SharedData = new Map();
  const thread = startThread(shared, '3 0 7');
  for (let index = 0; index < 30; index++) expect(thread.open(`[2001:db8:1:${index.toString(16)}::1]:99`)).toBe(true);
  expect(thread.open('[2001:db8:1:ff::1]:99')).toBe(false);
  expect(thread.open('[2001:db8:2:ff::1]:99')).toBe(true);
  // The refused one and one other.
  thread.close('[2001:db8:1:ff::1]:99');
  thread.close('[2001:db8:1:0::1]:99');
  expect(thread.open('[2001:db8:1:fe::1]:99')).toBe(true);
  expect([countsOf(shared), countsOf(shared, true)]).toEqual([
    { connections: 31, requests: 0 },
    { connections: 31, requests: 0 },
  ]);
});

test('an IPv4 address is in no network', () => {
  const shared: SharedData = new Map();
  const thread = startThread(shared, '3 0 7');
  thread.open('192.0.2.1:1');
  thread.open('[::ffff:192.0.2.1]:2');
  expect([...shared.values()].map(({ value }) => value)).toEqual([2n]);
});

test('a change by another thread between reading and storing is not lost', () => {
  const shared: SharedData = new Map();
  let others = 2;
  const other = startThread(shared, '100 0 1');
  const thread = startThread(shared, '100 0 1', () => {
    if (others-- > 0) other.open('192.0.2.1:1');
  });
  thread.open('192.0.2.1:2');
  expect([...shared.values()].map(({ value }) => value)).toEqual([3n]);
});

test('the seed decides which addresses share a bucket', () => {
  const bucket = (seed: number, address: string): number | undefined => {
    const shared: SharedData = new Map();
    startThread(shared, `9 0 ${seed}`).open(address);
    return shared.keys().next().value;
  };
  const addresses = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}:1`);
  const places = (seed: number) => addresses.map((address) => bucket(seed, address));
  const ofOne = places(1);
  expect(new Set(ofOne).size).toBeGreaterThan(190);
  expect(ofOne).not.toEqual(places(2));
});

test('the count is that of open connections, in any order of events', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 4 }), { maxLength: 200 }), (turns) => {
      const shared: SharedData = new Map();
      const thread = startThread(shared, '1000 0 3');
      const open: string[] = [];
      let opened = 0;
      for (const turn of turns) {
        const oldest = turn === 0 ? open.shift() : undefined;
        if (oldest !== undefined) thread.close(oldest);
        else thread.open(open[open.push(`198.51.100.${turn}:${opened++}`) - 1] ?? '');
      }
      expect(countsOf(shared).connections).toBe(open.length);
    }),
    { numRuns: propertyRuns(100) },
  );
});

describe('tiny DATA frames', () => {
  const one = frame(FRAME.data, 0, 1, Buffer.from('a'));
  const tiny = (count: number) => Buffer.alloc(count * one.length, one);
  const start = () => {
    const thread = startThread(new Map(), '10 0 1');
    for (const address of ['192.0.2.1:1', '192.0.2.1:2', '192.0.2.2:1']) {
      thread.open(address);
      expect(thread.receive(address, PREFACE)).toBe(true);
    }
    return thread;
  };

  test("close the connection that exceeds its address's bound for a second", () => {
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

  test('a /48 has ten times as many as an address', () => {
    const thread = startThread(new Map(), '10 0 1');
    for (let index = 0; index <= 10; index++) {
      const address = `[2001:db8:1:${index.toString(16)}::1]:99`;
      thread.open(address);
      thread.receive(address, PREFACE);
      expect(thread.receive(address, tiny(MOST_TINY))).toBe(index < 10);
    }
  });

  test('are not looked for in another protocol', () => {
    const thread = startThread(new Map(), '10 0 1');
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
        const thread = startThread(new Map(), '10 0 1');
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
      { numRuns: propertyRuns(100) },
    );
  });
});
