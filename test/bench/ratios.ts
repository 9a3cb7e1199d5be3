import { readFileSync, writeFileSync } from 'node:fs';
import type { Figures } from './figures.ts';
import { FAST_STREAMS, LARGE, type Scenario, SMALL } from './scenarios.ts';
import { GATEWAY, PLAIN, type SideName } from './sides.ts';

/**
 * Cost of the gateway as a multiple of plain Envoy's in the same rounds: machines differ, and so do
 * their minutes.
 */
export type Ratios = Readonly<Record<string, number>>;

interface Ratio {
  readonly of: Scenario;
  readonly toPlain: Scenario;
}

/**
 * A stream's event is compared with plain Envoy's small request: how many events share a read hangs
 * on how busy the machine is, and plain Envoy's cost per event doubles with it.
 */
const RATIOS: readonly Ratio[] = [
  { of: SMALL, toPlain: SMALL },
  { of: LARGE, toPlain: LARGE },
  { of: FAST_STREAMS, toPlain: SMALL },
];

export const RATIO_SCENARIOS: readonly Scenario[] = RATIOS.map((ratio) => ratio.of);

/** How much worse than recorded is still taken for noise. */
export const TOLERANCE = 1.25;

const RECORDED = new URL('./recorded-ratios.json', import.meta.url);

export function ratiosOf(figures: readonly Figures[]): Ratios {
  const costOf = (scenario: Scenario, side: SideName): number =>
    figures.find((one) => one.scenario === scenario.name && one.side === side)?.totalCpuMicros ?? Number.NaN;
  return Object.fromEntries(RATIOS.map(({ of, toPlain }) => [of.name, costOf(of, GATEWAY) / costOf(toPlain, PLAIN)]));
}

export function recordedRatios(): Ratios {
  return JSON.parse(readFileSync(RECORDED, 'utf8'));
}

/** The bench's `--record`: on a machine that does nothing else. */
export function record(ratios: Ratios): void {
  const rounded = Object.fromEntries(
    Object.entries(ratios).map(([name, ratio]) => [name, Number(ratio.toPrecision(3))]),
  );
  writeFileSync(RECORDED, `${JSON.stringify(rounded, null, 2)}\n`);
}

/**
 * Names of those that are worse than recorded by more than noise. A ratio that was not measured is
 * worse, too.
 */
export function regressions(measured: Ratios, recorded: Ratios): string[] {
  return Object.keys(recorded).filter((name) => !((measured[name] ?? Number.NaN) <= (recorded[name] ?? 0) * TOLERANCE));
}

/** Takes the better of two measurements: other work of the machine can only make one worse. */
export function better(one: Ratios, other: Ratios): Ratios {
  return Object.fromEntries(
    Object.keys(one).map((name) => [name, Math.min(one[name] ?? Number.NaN, other[name] ?? Number.NaN)]),
  );
}
