/**
 * Tests of special cases that take too much CPU for the four minutes of `npm test`. They run in CI,
 * or when they are named.
 */
const inFolder = (folder: string, names: string) => names.split(/\s+/).map((name) => `${folder}/${name}.test.ts`);

/** Stores that fail, are replaced or set up in another way, and processes that contend for them. */
const STORES = inFolder(
  'test/contract',
  `memory-mode-lock mirrored-charges postgres-access postgres-outage process-reporter redis-clock-steps redis-cluster
  redis-differential redis-fence-order redis-forgets redis-name redis-outage redis-partial-loss redis-split-brain
  redis-together shared-mode-lock single-charges transaction-pooler`,
);

/** What operators and payment providers do rarely, and tables with years of requests. */
const RECORDS = inFolder(
  'test/contract',
  `dead-letters doctor doctor-dashboard doctor-demo doctor-elsewhere doctor-ledger explored-rows explored-years
  fill-ledger fill-request-log forgotten-payments ledger-checkpoints lost-answers outbox stripe-orders`,
);

/** Whole gateways: providers and prices of every kind, several processes, deployments. */
const GATEWAYS = [
  ...inFolder('test/integration/chat', 'embeddings request-heads request-limits'),
  ...inFolder('test/integration/configuration', 'cluster-follower clusters'),
  ...inFolder('test/integration/dashboard', 'alerts csv database-away forgotten-password known-browsers'),
  ...inFolder('test/integration/limits', 'refused-requests'),
  ...inFolder('test/integration/money', 'over-hold prices-in-time reported-usages shipped-models stored-answers'),
  ...inFolder('test/integration/observability', 'envoy-state process-reports'),
  ...inFolder(
    'test/integration/providers',
    `attempts aws-signing connections endpoint-picker endpoints envoy-egress imported-models oauth2-tokens
    provider-oddities reasoning-memory sent-members`,
  ),
  ...inFolder('test/integration/security', 'envoy-tls'),
  ...inFolder('test/integration/transport', 'unread-frames uploads workers'),
  ...inFolder('test/deploy', 'manual'),
];

/** Unit tests that compute for more than a second, or start processes. */
const CODE = [
  ...inFolder('core', 'lock/file-lock log/log-destination'),
  ...inFolder('dashboard', 'web/connect/snippets'),
  ...inFolder('ext-proc', 'billing/charge-log/worker-lock chat/slow-bodies chat/tokens/normalization-growth'),
  ...inFolder('ext-proc', 'limits/memory/memory-limit-store'),
  ...inFolder('scripts', 'catalogue/genai-prices'),
  ...inFolder('supervisor', 'children/node-child demo-on-demand postgres/embedded-postgres start-process'),
];

export const SPECIAL = [...STORES, ...RECORDS, ...GATEWAYS, ...CODE];
