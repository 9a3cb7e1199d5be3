/** How long the old key goes on beside the one that replaces it, in hours. */
export const OVERLAP_CHOICES = ['0', '1', '24', '72', 'custom'] as const;
export type OverlapChoice = (typeof OVERLAP_CHOICES)[number];

export const MAX_OVERLAP_HOURS = 720;

export const OVERLAP_WORDS: Readonly<Record<OverlapChoice, string>> = {
  '0': 'Now',
  '1': '1 hour',
  '24': '24 hours',
  '72': '72 hours',
  custom: 'Custom',
};

/** `undefined` while no hours have been entered. */
export function overlapHours(choice: OverlapChoice, customHours: number | undefined): number | undefined {
  return choice === 'custom' ? customHours : Number(choice);
}
