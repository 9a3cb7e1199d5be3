import { expect, it } from 'vitest';
import { reportWith } from '#test/fixtures/process-report.ts';
import { connectionsTrouble, isSlow } from './process-figures.ts';

it.each([
  [250, false],
  [251, true],
])('a process that is late by %i ms is slow: %j', (p99, slow) => {
  expect(isSlow(reportWith({ eventLoopLagMs: { p50: 1, p99, max: 900 } }))).toBe(slow);
});

it.each([
  [80, undefined],
  [81, 'warning'],
  [95, 'warning'],
  [96, 'problem'],
])('%i of 100 connections in use: %s', (connections, verdict) => {
  expect(connectionsTrouble({ connections, maxConnections: 100 })).toBe(verdict);
});
