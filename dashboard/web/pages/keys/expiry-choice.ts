export const EXPIRY_CHOICES = ['never', '30d', '90d', '1y', 'custom'] as const;
export type ExpiryChoice = (typeof EXPIRY_CHOICES)[number];

export const EXPIRY_WORDS: Readonly<Record<ExpiryChoice, string>> = {
  never: 'Never',
  '30d': '30 days',
  '90d': '90 days',
  '1y': '1 year',
  custom: 'Custom',
};

const DAYS = { '30d': 30, '90d': 90, '1y': 365, custom: 7 } as const;

/**
 * What a choice means now: so many days from now on the calendar of who chooses, at the same time of day (also over a change to summer
 * time). Custom begins in a week.
 */
export function expiryOf(choice: ExpiryChoice, nowMs: number): number | undefined {
  if (choice === 'never') return undefined;
  const at = new Date(nowMs);
  at.setDate(at.getDate() + DAYS[choice]);
  at.setSeconds(0, 0);
  return at.getTime();
}

/** What a key that exists has. */
export function expiryChoiceOf(expiresAtMs: number | undefined): ExpiryChoice {
  return expiresAtMs === undefined ? 'never' : 'custom';
}
