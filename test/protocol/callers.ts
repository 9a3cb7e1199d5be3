import type { Configuration, Specification } from './specification.ts';

const RULES = {
  ...{ Proves: 'TRUE', FromSending: 'TRUE', Waits: 'TRUE', DropsReads: 'TRUE', DropsLost: 'TRUE', InOrder: 'TRUE' },
  ...{ ProvedFor: 2, InForceAfter: 2 },
};
const FAULTS = { Processes: '{A}', MostChanges: 1, MostBreaks: 0, MostStalls: 0, MostDeaths: 0 };

const lost = { MostBreaks: 1 };
const frozen = { MostStalls: 1 };

/** Each configuration omits one rule, or has a time that is too short. */
const BROKEN: readonly Configuration[] = [
  { name: 'without a proof', constants: { Proves: 'FALSE' } },
  { name: 'without a proof, a process stands still', constants: { Proves: 'FALSE', ...frozen } },
  { name: 'the changer does not wait', constants: { Waits: 'FALSE' } },
  { name: 'the changer waits less than a proof holds', constants: { InForceAfter: 1 } },
  { name: 'a proof counts from its answer', constants: { FromSending: 'FALSE' } },
  { name: 'a read that began before a notification is kept', constants: { DropsReads: 'FALSE' } },
  { name: 'another connection, and what was kept stays', constants: { DropsLost: 'FALSE' } },
  { name: 'notifications behind the answers to later statements', constants: { InOrder: 'FALSE' } },
].map((configuration) => ({ ...configuration, breaks: 'InForce' }));

export const CALLERS: Specification = {
  module: 'Callers',
  invariants: ['InForce'],
  defaults: { ...RULES, ...FAULTS },
  isAlike: ({ Processes }) => Processes !== '{A}',
  configurations: [
    ...BROKEN,
    { name: 'cached callers are used', constants: {}, breaks: 'NeverUsed' },
    { name: 'late notifications, two processes', constants: { Processes: '{A, B}' } },
    { name: 'two changers', constants: { MostChanges: 2 } },
    { name: 'two changers, lost notifications', constants: { MostChanges: 2, ...lost } },
    { name: 'two changers, a process stands still', constants: { MostChanges: 2, ...frozen } },
    { name: 'lost notifications, a process stands still and dies', constants: { ...lost, ...frozen, MostDeaths: 1 } },
  ],
};
