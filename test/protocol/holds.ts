import type { Configuration, Specification } from './specification.ts';

const CURES = {
  ...{
    ReadsAgain: 'TRUE',
    DistrustsLapsed: 'TRUE',
    DistrustsReleases: 'TRUE',
    ChargesOnce: 'TRUE',
    EndsInTime: 'TRUE',
    OwedStays: 'TRUE',
  },
  ...{
    Quarantines: 'TRUE',
    GuardsClock: 'TRUE',
    SeesLoss: 'TRUE',
    Fences: 'TRUE',
    NewestFence: 'TRUE',
    ConfirmsFence: 'TRUE',
  },
};
const TICKS = { Lease: 3, CancelAfter: 1, SettleMost: 1, OpensAfter: 3, TotalMost: 2, QuarantineEnd: 4 };
const FAULTS = {
  ...{ MostPromotions: 0, MostFlushes: 0, MostLosses: 0, MostSteps: 0, MostStalls: 0, MostDeaths: 0, MostCuts: 0 },
  MostFences: 0,
};
const DEFAULTS = {
  ...CURES,
  ...TICKS,
  ...FAULTS,
  OwnStores: 'FALSE',
  CutsOff: '{"postgres", "store"}',
  MovesBack: 'FALSE',
};

const promotion = { MostPromotions: 1, MostFences: 1 };
const flush = { MostFlushes: 1, MostFences: 1 };
const twoFences = { ...flush, MostFences: 2 };
const memory = { ...promotion, OwnStores: 'TRUE' };
const cut = { MostCuts: 1 };
const stall = { MostStalls: 1 };
const death = { MostDeaths: 1 };
const noQuarantine = { Quarantines: 'FALSE' };

/** Each configuration omits one safeguard, or has a time that is too short. */
const BROKEN: readonly Configuration[] = [
  { name: 'cut off from both stores, no quarantine (F5.1)', constants: { ...noQuarantine, MostCuts: 2 } },
  { name: 'a clock that steps, no guard (F5.2)', constants: { GuardsClock: 'FALSE', MostSteps: 1 } },
  {
    name: 'split brain, no fence (F5.3)',
    constants: { MostPromotions: 1, Fences: 'FALSE', ConfirmsFence: 'FALSE' },
  },
  {
    name: 'held before the promotion, fence only at admission (F5.3)',
    constants: { ...promotion, ConfirmsFence: 'FALSE' },
  },
  { name: 'an organization lost, unseen (F5.4)', constants: { SeesLoss: 'FALSE', MostLosses: 1 } },
  {
    name: 'settling longer than the margin, no quarantine (F5.5)',
    constants: { ...noQuarantine, ...cut, SettleMost: 3 },
  },
  { name: 'settling longer than a store that forgot stays closed', constants: { ...flush, ...cut, SettleMost: 3 } },
  { name: 'a process stands still, no quarantine', constants: { ...noQuarantine, ...stall } },
  { name: 'a process dies with charges that wait, no quarantine', constants: { ...noQuarantine, ...death } },
  {
    name: 'a request that goes on without a lease for longer than a quarantine',
    constants: { ...cut, EndsInTime: 'FALSE', TotalMost: 4 },
  },
  {
    name: 'a request that goes on without a lease when the store forgets',
    constants: { ...flush, ...cut, EndsInTime: 'FALSE' },
  },
  { name: 'nothing held between the end of a response and its commit', constants: { OwedStays: 'FALSE' } },
  { name: 'first snapshots believed', constants: { ReadsAgain: 'FALSE' } },
  { name: 'snapshots from before a lapse believed', constants: { DistrustsLapsed: 'FALSE' } },
  {
    name: 'snapshots from before a release that cannot be compared believed',
    constants: { ...flush, ...cut, DistrustsReleases: 'FALSE' },
  },
  { name: 'memory: a successor that admits at once (F12)', constants: { ...memory, OpensAfter: 0 } },
  {
    name: 'memory: a successor that waits no longer than the owner takes to notice and to charge (F12)',
    constants: { ...memory, OpensAfter: 2 },
  },
  { name: 'memory: an owner that does not look (F12)', constants: { ...memory, ConfirmsFence: 'FALSE' } },
].map((configuration) => ({ ...configuration, breaks: 'Covered' as const }));

const CLEAN: readonly Configuration[] = [
  { name: 'no fault', constants: {} },
  { name: 'cut twice', constants: { MostCuts: 2 } },
  { name: 'cut twice, requests go on without a lease', constants: { MostCuts: 2, EndsInTime: 'FALSE' } },
  { name: 'stall, cut', constants: { ...stall, ...cut } },
  { name: 'death, cut', constants: { ...death, ...cut } },
  { name: 'stall, death', constants: { ...stall, ...death } },
  { name: 'an organization lost, cut', constants: { MostLosses: 1, ...cut } },
  { name: 'clock step, cut', constants: { MostSteps: 1, ...cut } },
  { name: 'flush, cut', constants: { ...flush, ...cut } },
  { name: 'flush, two fences', constants: twoFences },
  { name: 'promotion, two fences', constants: { ...promotion, MostFences: 2 } },
  { name: 'flush, stall', constants: { ...flush, ...stall } },
  { name: 'flush, death', constants: { ...flush, ...death } },
  { name: 'promotion, addresses that lead back', constants: { ...promotion, MovesBack: 'TRUE' } },
  { name: 'promotion, cut off from PostgreSQL', constants: { ...promotion, ...cut, CutsOff: '{"postgres"}' } },
  { name: 'promotion, cut off from a store', constants: { ...promotion, ...cut, CutsOff: '{"store"}' } },
  { name: 'promotion, stall', constants: { ...promotion, ...stall } },
  { name: 'promotion, death', constants: { ...promotion, ...death } },
  { name: 'memory: takeover, cut', constants: { ...memory, ...cut } },
  { name: 'memory: takeover, stall', constants: { ...memory, ...stall } },
  { name: 'memory: takeover, death', constants: { ...memory, ...death } },
];

export const HOLDS: Specification = {
  module: 'Holds',
  invariants: ['Once', 'Covered', 'QuarantineEnds', 'TimeGoesOn', 'NotShutOut'],
  defaults: DEFAULTS,
  configurations: [
    ...BROKEN,
    { name: 'charges not idempotent', constants: { ChargesOnce: 'FALSE' }, breaks: 'Once' },
    {
      name: 'the fence that arrives first stays',
      constants: { ...twoFences, NewestFence: 'FALSE' },
      breaks: 'NotShutOut',
    },
    ...CLEAN,
  ],
  // Processes are interchangeable unless each has its own store.
  isAlike: ({ OwnStores }) => OwnStores !== 'TRUE',
};
