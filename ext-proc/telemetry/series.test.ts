import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createCounters, createHistograms } from './series.ts';

const about = { name: 'm', help: 'What it says', labelNames: ['route', 'code'] };
const BOUNDS = [0.1, 1, 2.5];
/** Below, at and above bounds; labels that a page has to escape, and such as would be one text when they are joined. */
const OBSERVED: readonly (readonly [route: string, code: string, value: number])[] = [
  ['chat', '', 0],
  ['chat', '', 0.1],
  ['chat', '', 0.10001],
  ['chat', '', 2.5],
  ['chat', '', 900],
  ['a"\\\n', 'b', 1],
  ['ab', 'c', 1],
  ['a', 'bc', 2],
];

test('a page with kept histograms is the page that prom-client makes', async () => {
  const kept = new Registry();
  const made = new Registry();
  const histograms = createHistograms({ ...about, registers: [kept] }, BOUNDS);
  const histogram = new Histogram({ ...about, buckets: BOUNDS, registers: [made] });
  for (const [route, code, value] of OBSERVED) {
    histograms.of(route, code).observe(value);
    histogram.observe({ route, code }, value);
  }
  expect(await kept.metrics()).toBe(await made.metrics());
});

test('a page with kept counters is the page that prom-client makes, however often it is read', async () => {
  const kept = new Registry();
  const made = new Registry();
  const counters = createCounters({ ...about, registers: [kept] });
  const counter = new Counter({ ...about, registers: [made] });
  counters.of('none', 'nothing');
  counter.inc({ route: 'none', code: 'nothing' }, 0);
  for (const [route, code, value] of OBSERVED) {
    counters.of(route, code).add(value);
    counters.of(route, code).add();
    counter.inc({ route, code }, value);
    counter.inc({ route, code });
    expect(await kept.metrics()).toBe(await made.metrics());
  }
});
