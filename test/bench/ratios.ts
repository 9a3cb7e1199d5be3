import { readFileSync, writeFileSync } from 'node:fs';
import type { Figures } from './figures.ts';
import { ALONE, FAST_STREAMS, LARGE, OPENAI_STREAMS, type Scenario, SMALL } from './scenarios.ts';
import { GATEWAY, PLAIN, type SideName, WITH_REDIS } from './sides.ts';

/**
 * Cost of the gateway as a multiple of plain Envoy's in the same rounds, because the speed of
 * machines differs and varies.
 */
export type Ratios = Readonly<Record<string, number>>;

/** One side in one scenario. */
export interface Measured {
  readonly scenario: Scenario;
  readonly side: SideName;
}

interface Ratio {
  readonly of: Measured;
  readonly to: Measured;
}

const PLAIN_SMALL: Measured = { scenario: SMALL, side: PLAIN };

/**
 * Events of streams are compared with plain Envoy's small requests: load on the machine changes how
 * many events share a read, which can double plain Envoy's cost. Single requests are compared with
 * plain Envoy's single requests: the cost of a wake-up differs by a third between processors.
 */
const RATIOS: ReadonlyMap<string, Ratio> = new Map([
  ...[SMALL, LARGE, ALONE].map((scenario): [string, Ratio] => [
    scenario.name,
    { of: { scenario, side: GATEWAY }, to: { scenario, side: PLAIN } },
  ]),
  ...[FAST_STREAMS, OPENAI_STREAMS].map((scenario): [string, Ratio] => [
    scenario.name,
    { of: { scenario, side: GATEWAY }, to: PLAIN_SMALL },
  ]),
  [
    `${SMALL.name}: two processes with Redis to one`,
    { of: { scenario: SMALL, side: WITH_REDIS }, to: { scenario: SMALL, side: GATEWAY } },
  ],
]);

/** The scenarios and sides to measure for these ratios, each once. */
export function measuredFor(names: readonly string[]): Map<Scenario, SideName[]> {
  const wanted = names.flatMap((name) => {
    const ratio = RATIOS.get(name);
    return ratio === undefined ? [] : [ratio.of, ratio.to];
  });
  const byScenario = Map.groupBy(wanted, ({ scenario }) => scenario);
  return new Map([...byScenario].map(([scenario, all]) => [scenario, [...new Set(all.map(({ side }) => side))]]));
}

export const RATIO_NAMES: readonly string[] = [...RATIOS.keys()];

/** Factor up to which a ratio above the record counts as noise. */
export const TOLERANCE = 1.15;

const RECORDED = new URL('./recorded-ratios.json', import.meta.url);

/** The ratios of which both sides were measured. */
export function ratiosOf(figures: readonly Figures[]): Ratios {
  const costOf = ({ scenario, side }: Measured): number =>
    figures.find((one) => one.scenario === scenario.name && one.side === side)?.totalCpuMicros ?? Number.NaN;
  const ratios = [...RATIOS].map(([name, { of, to }]): [string, number] => [name, costOf(of) / costOf(to)]);
  return Object.fromEntries(ratios.filter(([, ratio]) => !Number.isNaN(ratio)));
}

export function recordedRatios(): Ratios {
  return JSON.parse(readFileSync(RECORDED, 'utf8'));
}

/** Writes the record for `--record`, which needs an otherwise idle machine. */
export function record(ratios: Ratios): void {
  const missing = RATIO_NAMES.filter((name) => ratios[name] === undefined);
  if (missing.length > 0) throw new Error(`not measured, so nothing is recorded: ${missing.join('; ')}`);
  const rounded = Object.fromEntries(
    Object.entries(ratios).map(([name, ratio]) => [name, Number(ratio.toPrecision(3))]),
  );
  writeFileSync(RECORDED, `${JSON.stringify(rounded, null, 2)}\n`);
}

/** Names of ratios that exceed the record by more than noise, or were not measured. */
export function regressions(measured: Ratios, recorded: Ratios): string[] {
  return Object.keys(recorded).filter((name) => !((measured[name] ?? Number.NaN) <= (recorded[name] ?? 0) * TOLERANCE));
}

/** The better of two measurements, because other load can only make one worse. */
export function better(one: Ratios, other: Ratios): Ratios {
  const best = { ...one };
  for (const [name, ratio] of Object.entries(other)) best[name] = Math.min(best[name] ?? ratio, ratio);
  return best;
}
