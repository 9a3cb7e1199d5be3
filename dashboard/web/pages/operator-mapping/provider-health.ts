import type { ProviderView } from '#contract/operator.ts';
import { countOf } from '#core/count-of.ts';
import { formatCount, formatPercent } from '../../format/format.ts';

export interface HealthLabel {
  readonly tone: 'neutral' | 'good' | 'warn' | 'bad';
  readonly state: string;
  readonly detail: string;
}

const FAILING_FRACTION = 0.05;

export function healthOf({ ejected, attempts, failures, restingTargets }: ProviderView): HealthLabel {
  const asked =
    attempts === 0
      ? 'not asked in the last 5 minutes'
      : `${formatCount(failures)} of ${countOf(attempts, 'attempt')} failed (${formatPercent(failures / attempts)})`;
  const detail = restingTargets === 0 ? asked : `${asked}, ${countOf(restingTargets, 'target')} at rest`;
  if (ejected) return { tone: 'bad', state: 'Left alone', detail };
  if (attempts === 0) return { tone: 'neutral', state: 'Idle', detail };
  return failures / attempts >= FAILING_FRACTION
    ? { tone: 'warn', state: 'Failing', detail }
    : { tone: 'good', state: 'Healthy', detail };
}

const ABOUT_ACCOUNT: Readonly<Record<string, string>> = {
  auth: ': our key or permissions',
  funds: ': our balance or quota',
};

/** `status_503` for people. */
export function failureLabel(result: string): string {
  const status = /^status_(\d{3})(?:_(auth|funds))?$/.exec(result);
  return status ? `answered ${status[1]}${ABOUT_ACCOUNT[status[2] ?? ''] ?? ''}` : result.replaceAll('_', ' ');
}
