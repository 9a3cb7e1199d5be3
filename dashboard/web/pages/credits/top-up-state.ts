import type { TopUpsView, TopUpView } from '#contract/top-ups.ts';
import { NANO_PER_USD } from '#core/money.ts';

type Tone = 'good' | 'warn' | 'bad' | 'neutral';

interface StateLabel {
  readonly tone: Tone;
  readonly word: string;
}

type Told = Pick<TopUpView, 'state' | 'automatic' | 'returnedNanoUsd' | 'failure'>;

export function topUpState({ state, automatic, returnedNanoUsd, failure }: Told): StateLabel {
  if (state === 'paid' && BigInt(returnedNanoUsd) > 0n) return { tone: 'warn', word: 'Returned' };
  if (state === 'open' && !automatic && failure === undefined) return { tone: 'neutral', word: 'Not paid yet' };
  return STATES[state];
}

const STATES: Readonly<Record<TopUpView['state'], StateLabel>> = {
  open: { tone: 'neutral', word: 'In progress' },
  paid: { tone: 'good', word: 'Paid' },
  failed: { tone: 'bad', word: 'Failed' },
  expired: { tone: 'neutral', word: 'Not paid' },
  refused: { tone: 'bad', word: 'Refused' },
};

/** Changes whenever a payment may have changed the balance. */
export function paymentsMark(topUps: readonly TopUpView[]): string {
  return topUps.map(({ id, state, returnedNanoUsd }) => `${id} ${state} ${returnedNanoUsd}`).join();
}

/** True while a payment is in progress, or an automatic one is about to begin. */
export function isMoving(
  { topUps, automatic, stopped }: Pick<TopUpsView, 'topUps' | 'automatic' | 'stopped'>,
  balanceNanoUsd: bigint | undefined,
): boolean {
  if (topUps.some(({ state }) => state === 'open')) return true;
  if (automatic === undefined || stopped !== undefined || balanceNanoUsd === undefined) return false;
  return balanceNanoUsd < BigInt(automatic.belowUsd) * NANO_PER_USD;
}

/** Message for a user who returns from paying. */
export function topUpNews({ state, failure }: Pick<TopUpView, 'state' | 'failure'>): {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
} {
  switch (state) {
    case 'paid':
      return { tone: 'good', title: 'Thank you', text: '' };
    case 'open':
      return {
        tone: 'neutral',
        title: 'Waiting for the payment',
        text: failure ?? 'The balance updates as soon as Stripe confirms it, usually within seconds.',
      };
    case 'refused':
      return {
        tone: 'bad',
        title: 'Your operator has to look at this payment',
        text: `${failure ?? 'It does not match.'} Nothing was added. Ask your operator, with the time of the payment.`,
      };
    case 'failed':
    case 'expired':
      return { tone: 'bad', title: 'The payment was not made', text: failure ?? 'Nothing was charged.' };
  }
}
