/** A part of the project: one process, or what several processes share. */
export interface Area {
  readonly path: string;
  /** Areas, or folders of areas, that it may import. All of them precede it in the list. */
  readonly uses: readonly string[];
  /** Folders below the path, lowest first: each imports only from folders before it. */
  readonly folders: readonly string[];
}

/**
 * The order of the project, from what everything depends on to what nothing depends on. A folder
 * imports only from folders before it, so there is no cycle between folders, and only from the
 * areas that its own area uses. Imports of types count.
 */
export const AREAS: readonly Area[] = [
  { path: 'proto', uses: [], folders: ['generated'] },
  { path: 'packages', uses: [], folders: ['http2-server', 'http2-server/h2spec'] },
  {
    path: 'core',
    uses: [],
    folders: ['', 'net', 'retry', 'lock', 'fairness', 'errors', 'log', 'batching', 'config', 'model-catalogue'],
  },
  { path: 'contract', uses: ['core'], folders: [''] },
  {
    path: 'database',
    uses: ['core', 'contract'],
    folders: [
      'connection',
      'partitions',
      'costs',
      'request-log',
      'process-reports',
      'schema',
      'limits-ownership',
      'audit',
      'alerts',
      'idempotency',
      'organizations',
      'payments',
      'keys',
      'users',
      'members',
      'sign-in',
      'ledger',
      'checkpoints',
      'ledger-verification',
      '',
    ],
  },
  {
    path: 'ext-proc',
    uses: ['core', 'database', 'packages'],
    folders: [
      'access',
      'hold',
      'fairness',
      'limits/reasoning',
      'limits',
      'limits/memory',
      'limits/redis',
      'chat/json',
      'chat/tokens',
      'chat',
      'dialects',
      'dialects/responses',
      'dialects/anthropic',
      'transport/ext-proc',
      'transport/streams',
      'transport',
      'telemetry',
      'billing/charge-log',
      'billing/idempotency',
      'billing',
      'reasoning',
      'doors',
      'doors/responses',
      'doors/messages',
      'doors/embeddings',
      'doors/reading',
      'envoy-config',
      'delivery/provider',
      'delivery/response',
      'delivery/attempts',
      'delivery/json',
      'delivery/stream',
      'delivery',
      'requests/log',
      'requests',
      'process/reports',
      'process',
      '',
    ],
  },
  {
    path: 'dashboard/server',
    uses: ['core', 'contract', 'database'],
    folders: ['background', 'fairness', 'oidc', 'payments', 'playground', 'http', 'sign-in', 'alerts', 'routes', ''],
  },
  {
    path: 'dashboard/web',
    uses: ['core', 'contract'],
    folders: [
      'styles',
      'format',
      'api',
      'components',
      'overlays',
      'forms',
      'search',
      'table',
      'charts',
      'errors',
      'keys',
      'people',
      'shell',
      'organizations',
      'models',
      'connect',
      'explore',
      'audit',
      'markdown',
      'documents',
      'pages',
      'pages/account',
      'pages/alerts',
      'pages/audit',
      'pages/connect',
      'pages/credits',
      'pages/settings',
      'pages/errors',
      'pages/keys',
      'pages/link',
      'pages/members',
      'pages/model',
      'pages/models',
      'pages/operator-costs',
      'pages/operator-home',
      'pages/operator-mapping',
      'pages/operator-organizations',
      'pages/operator-system',
      'pages/operator-users',
      'pages/overview',
      'pages/requests',
      'pages/playground',
      'pages/sign-in',
      'public',
      '',
    ],
  },
  {
    path: 'operator',
    uses: [
      'core',
      'contract',
      'database',
      'ext-proc/limits',
      'ext-proc/billing/charge-log',
      'dashboard/server/alerts',
      'dashboard/server/oidc',
      'dashboard/server/payments',
      'dashboard/server/sign-in',
    ],
    folders: ['command-line', 'records', 'catalogue', 'doctor', 'commands', ''],
  },
  {
    path: 'supervisor',
    uses: ['core', 'database', 'ext-proc/envoy-config', 'operator'],
    folders: ['children', 'postgres', '', 'startup'],
  },
  { path: 'demo', uses: [], folders: [''] },
  { path: 'scripts', uses: ['core'], folders: ['setup', 'catalogue', ''] },
  {
    path: 'test',
    uses: [
      'contract',
      'core',
      'database',
      'ext-proc',
      'dashboard',
      'operator',
      'supervisor',
      'packages',
      'scripts/catalogue',
    ],
    folders: [
      'architecture',
      'fixtures',
      'launchers',
      'provider',
      'stripe',
      'harness',
      'deploy',
      'load',
      'bench',
      'contract',
      'integration/dashboard',
      'integration/chat',
      'integration/configuration',
      'integration/keys',
      'integration/limits',
      'integration/money',
      'integration/observability',
      'integration/processes',
      'integration/providers',
      'integration/security',
      'integration/transport',
      'faults',
      'browser',
      'sdk',
      'stripe-mock',
      'clients',
      'agents',
      'protocol',
      '',
    ],
  },
];

/** Code that only the listed folders may import, in addition to the order. */
export interface Seam {
  readonly name: string;
  readonly comment: string;
  /** A regular expression for the imported path. */
  readonly to: string;
  /** Folders or areas that may import it, with everything below them. */
  readonly only: readonly string[];
}

export const SEAMS: readonly Seam[] = [
  {
    name: 'only-transport-knows-ext-proc',
    comment: 'Nothing but the transport knows that requests arrive by ext_proc over gRPC.',
    to: '^packages/http2-server/',
    only: ['ext-proc/transport', 'packages'],
  },
  {
    name: 'exchange-is-the-seam',
    comment: 'A request is an Exchange to the gateway process. Only its start knows the servers.',
    to: '^ext-proc/transport/(?!exchange\\.ts$)',
    only: ['ext-proc/transport', 'ext-proc/envoy-config', 'ext-proc/process'],
  },
  {
    name: 'stores-know-no-http',
    comment: 'HTTP is served and asked by what is named here, never by a store.',
    to: '^(node:)?(http|https|http2)$',
    only: [
      'core/net',
      'dashboard/server',
      'demo',
      'ext-proc/delivery/provider',
      'ext-proc/telemetry',
      'ext-proc/transport/streams',
      'operator',
    ],
  },
];

const REACT = ['dashboard/web'];

/** Folders that may import each npm package. A path includes everything below it. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@base-ui/react': ['dashboard/web', 'dashboard/web/forms', 'dashboard/web/overlays', 'dashboard/web/shell'],
  '@hono/node-server': ['dashboard/server'],
  '@opentelemetry/api': ['ext-proc/telemetry'],
  '@opentelemetry/otlp-transformer': ['ext-proc/telemetry'],
  '@opentelemetry/resources': ['ext-proc/telemetry'],
  '@opentelemetry/sdk-trace': ['ext-proc/telemetry'],
  '@tanstack/react-query': REACT,
  '@tanstack/react-router': REACT,
  '@vitejs/plugin-react': ['dashboard/web'],
  'gpt-tokenizer': ['ext-proc/chat/tokens'],
  hono: ['dashboard/server'],
  ioredis: ['ext-proc/limits/redis'],
  'ipaddr.js': ['core/net'],
  nodemailer: ['dashboard/server/alerts'],
  'openid-client': ['dashboard/server/oidc', 'dashboard/server/sign-in'],
  pg: ['database', 'dashboard/server'],
  pino: ['core/log'],
  'prom-client': ['ext-proc/telemetry'],
  react: REACT,
  'react-dom': ['dashboard/web'],
  standardwebhooks: ['dashboard/server/alerts'],
  undici: ['ext-proc/delivery/provider'],
  stripe: ['dashboard/server/payments'],
  uplot: ['dashboard/web/charts'],
  vite: ['dashboard/web'],
  yaml: ['core/config', 'ext-proc/envoy-config', 'operator/catalogue', 'scripts', 'scripts/catalogue'],
  zod: ['contract', 'core/config', 'dashboard/server', 'dashboard/server/routes'],
};

/** Files that are started or served, so nothing imports them. */
export const ENTRIES =
  '^ext-proc/billing/charge-log/charge-log\\.ts$|(^|/)main\\.tsx?$|^core/config/json-schema\\.ts$|^scripts/[^/]+$|^demo/provider\\.ts$|^packages/http2-server/h2spec/run\\.ts$|^dashboard/web/(vite\\.config\\.ts|public/.*)$|^supervisor/children/(child-owner|stand-in)\\.fixture\\.ts$|\\.d\\.mts$';

/** Tests and their helpers, which may import everything. */
export const TESTS = '^proto/generated/|\\.(test|fixture|contract)\\.tsx?$';
