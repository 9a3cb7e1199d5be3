/** The change of a figure compared with the preceding range. */
export interface Change {
  readonly direction: 'up' | 'down' | 'same';
  /** `12%` or `1.5 pt`, without a sign. */
  readonly amount: string;
  /** Large enough not to be noise. */
  readonly isNotable: boolean;
}

/** A change by this factor or more is shown as a factor. */
const FACTOR_FROM = 10;
/** Least notable changes, in percent and in percentage points. */
const NOTABLE_PERCENT = 10;
const NOTABLE_POINTS = 1;

/** The relative change. `undefined` if there is no value to compare with. */
export function relativeChange(now: number | undefined, before: number | undefined): Change | undefined {
  if (now === undefined || before === undefined || before <= 0) return undefined;
  const ratio = now / before;
  if (ratio >= FACTOR_FROM)
    return { direction: 'up', amount: `${Math.round(ratio).toLocaleString('en-US')}×`, isNotable: true };
  return change(ratio - 1, '%', NOTABLE_PERCENT);
}

/** Difference of two shares in percentage points: a rise from 1 % to 2 % is not 100 %. */
export function pointChange(now: number | undefined, before: number | undefined): Change | undefined {
  if (now === undefined || before === undefined) return undefined;
  return change(now - before, ' pt', NOTABLE_POINTS);
}

/** Has one decimal below ten. If it rounds to zero, there is no change. */
function change(difference: number, unit: string, notableFrom: number): Change {
  const magnitude = Math.abs(difference) * 100;
  const rounded = magnitude < 9.95 ? Math.round(magnitude * 10) / 10 : Math.round(magnitude);
  if (rounded === 0) return { direction: 'same', amount: `0${unit}`, isNotable: false };
  const amount = `${rounded.toLocaleString('en-US')}${unit}`;
  return { direction: difference > 0 ? 'up' : 'down', amount, isNotable: rounded >= notableFrom };
}
