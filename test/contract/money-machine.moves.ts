import fc from 'fast-check';

const slot = fc.nat(1);
const pick = fc.nat(1_000);

/**
 * One move of a history. Faults are rarer than steps, but every history has some.
 */
export const move = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask'),
      slot,
      /** Several requests at once, because errors come from their interaction. */
      times: fc.constantFrom(1, 1, 2, 3),
      organization: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
      key: fc.nat(1),
      /** Large parts of the balance, so that the next request may exceed it. */
      limitNanoUsd: fc.constantFrom(1, 100, 200, 300, 400, 500, 700, 900),
      /** Share of the output limit in percent. Some providers produce more than the limit. */
      share: fc.constantFrom(0, 50, 100, 100, 100, 100, 200, 300),
      ending: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'nothing'),
    }),
  },
  {
    weight: 24,
    arbitrary: fc.record({
      kind: fc.constant('steps'),
      picks: fc.array(pick, { minLength: 1, maxLength: 8 }),
      again: fc.nat(9),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('time'), ms: fc.constantFrom(100, 1_000, 3_000, 8_000, 20_000, 700_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wall'),
      ms: fc.constantFrom(-60_000, -16_000, 16_000, 60_000, 86_400_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash'), slot, arrives: fc.nat(255) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('start'), slot }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stall'), slot }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wake'), slot }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ledger'), state: fc.constantFrom('away', 'deaf') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('ledger'), state: fc.constant('here') }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('store'), state: fc.constantFrom('away', 'deaf', 'flushed') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('store'), state: fc.constant('here') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('lose'),
      organization: fc.constantFrom(0, 0, 0, 1),
      part: fc.constantFrom('organization', 'holds', 'leases'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore'), lostEntries: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('credit'), nanoUsd: fc.bigInt(1n, 300n) }) },
);
export type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

/**
 * Most histories begin near midnight. In some the daily budget is scarcest, in others the
 * balance.
 */
export const beginning = fc.record({
  beforeMidnightMs: fc.constantFrom(1_000, 5_000, 30_000, 3_600_000),
  budgetNanoUsd: fc.constantFrom(700n, 1_000_000n),
});
export type Beginning = typeof beginning extends fc.Arbitrary<infer T> ? T : never;
