import type { Endpoint } from '#contract/api.ts';
import type { Access } from '#dashboard/server/http/route.ts';

/**
 * The decision about one route, made here independently of the code: who may use it, and an example
 * of a valid request.
 */
export interface Decision {
  readonly access: Access;
  /** Body or query of a valid request. Absent if the route needs none. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** The problem in the response to a valid request of a new user, if it is no success. */
  readonly answer?: string;
  /** Set if the response contains a key or a link; no other response may. */
  readonly tells?: 'key' | 'link';
}

const ORGANIZATION = '/api/organizations/:organization';
const EXPLORED = { fromMs: 1_764_000_000_000, toMs: 1_764_086_400_000, by: 'model' };
const VIEW = { name: 'Spend by model', page: 'overview', search: '?by=model' };
const COSTS = { from: '2026-11-01', to: '2026-11-30', by: 'day,model' };

const PAGE_ROUTES = {
  'GET /api/session': { access: 'user' },
  'POST /api/session': {
    access: 'anyone',
    input: { email: 'nobody@example.com', password: 'wrong' },
    answer: 'wrong_password',
  },
  'DELETE /api/session': { access: 'anyone' },
  'POST /api/password-resets': { access: 'anyone', input: { email: 'nobody@example.com' }, answer: 'conflict' },
  'POST /api/password-links/inspection': {
    access: 'anyone',
    input: { token: 'x' },
    answer: 'link_used_or_expired',
  },
  'POST /api/password-links/use': {
    access: 'anyone',
    input: { token: 'x', password: 'a long new password' },
    answer: 'link_used_or_expired',
  },
  'POST /api/invitations/acceptance': { access: 'user', input: { token: 'x' }, answer: 'link_used_or_expired' },
  'POST /api/password/confirmation': { access: 'user', input: { password: 'wrong' }, answer: 'wrong_password' },
  'PUT /api/password': {
    access: 'user',
    input: { current: 'wrong', next: 'a long new password' },
    answer: 'wrong_password',
  },
  'GET /api/sign-in': { access: 'anyone' },
  'POST /api/oidc/authorization': { access: 'anyone', answer: 'not_found' },
  'POST /api/oidc/session': { access: 'anyone', input: { query: 'code=x&state=y' }, answer: 'not_found' },
  'POST /api/sign-in-links/use': { access: 'anyone', input: { token: 'x' }, answer: 'link_used_or_expired' },
  'GET /api/devices': { access: 'user' },
  'DELETE /api/devices/:device': { access: 'user' },

  'GET /api/organizations/:organization': { access: 'member' },
  'GET /api/organizations/:organization/settings': { access: 'owner' },
  'PATCH /api/organizations/:organization/settings': { access: 'owner', input: { legalName: 'Acme Ltd' } },

  'GET /api/organizations/:organization/keys': { access: 'member' },
  'POST /api/organizations/:organization/keys': {
    access: 'member',
    input: { name: 'a key', scopes: ['chat'] },
    tells: 'key',
  },
  'GET /api/organizations/:organization/keys/:key': { access: 'member' },
  'PATCH /api/organizations/:organization/keys/:key': { access: 'member', input: { name: 'renamed' } },
  'POST /api/organizations/:organization/keys/:key/revocation': { access: 'member' },
  'POST /api/organizations/:organization/keys/revocation': {
    access: 'member',
    input: { keys: [`key-${'0'.repeat(26)}`] },
    answer: 'not_found',
  },
  'POST /api/organizations/:organization/keys/:key/replacement': {
    access: 'member',
    input: { revokeOldAfterHours: 1 },
    tells: 'key',
  },

  'GET /api/organizations/:organization/views': { access: 'member' },
  'POST /api/organizations/:organization/views': { access: 'member', input: VIEW },
  'PATCH /api/organizations/:organization/views/:view': { access: 'member', input: { search: '?by=key' } },
  'DELETE /api/organizations/:organization/views/:view': { access: 'member' },
  'GET /api/views': { access: 'operator' },
  'POST /api/views': { access: 'operator', input: VIEW },
  'PATCH /api/views/:view': { access: 'operator', input: { search: '?by=key' } },
  'DELETE /api/views/:view': { access: 'operator' },

  'GET /api/organizations/:organization/explore': { access: 'member', input: EXPLORED },
  'GET /api/explore': { access: 'operator', input: EXPLORED },
  'GET /api/requests': { access: 'operator' },
  'GET /api/organizations/:organization/requests': { access: 'member' },
  'GET /api/organizations/:organization/requests/:request': { access: 'member' },
  'GET /api/organizations/:organization/ledger': { access: 'member' },
  'GET /api/organizations/:organization/models': { access: 'member' },

  'GET /api/organizations/:organization/top-ups': { access: 'owner' },
  'POST /api/organizations/:organization/top-ups': { access: 'owner', input: { amountUsd: 10 } },
  'POST /api/organizations/:organization/top-ups/:topUp/check': { access: 'owner' },
  'POST /api/organizations/:organization/top-ups/:topUp/invoice': { access: 'owner', answer: 'not_found' },
  'POST /api/organizations/:organization/card': { access: 'owner' },
  'DELETE /api/organizations/:organization/card': { access: 'owner' },
  'PUT /api/organizations/:organization/automatic-top-up': { access: 'owner' },

  'GET /api/organizations/:organization/members': { access: 'owner' },
  'POST /api/organizations/:organization/members': {
    access: 'owner',
    input: { email: 'new@example.com', role: 'member' },
    tells: 'link',
  },
  'PATCH /api/organizations/:organization/members/:user': { access: 'owner', input: { role: 'owner' } },
  'DELETE /api/organizations/:organization/members/:user': { access: 'owner' },
  'POST /api/organizations/:organization/members/:user/invitation': { access: 'owner', tells: 'link' },
  'GET /api/organizations/:organization/audit': { access: 'owner' },

  'GET /api/organizations/:organization/alerts': { access: 'owner' },
  'PATCH /api/organizations/:organization/alerts': {
    access: 'owner',
    input: { keyBudgets: true, keyExpiry: true, topUps: true, emails: ['alerts@example.com'] },
  },
  'POST /api/organizations/:organization/alerts/secret': { access: 'owner', answer: 'conflict' },
  'POST /api/organizations/:organization/alerts/test': { access: 'owner' },

  'POST /api/organizations/:organization/alerts/again': {
    access: 'owner',
    input: { messageId: `msg_${'0'.repeat(32)}` },
    answer: 'conflict',
  },
  'GET /api/alerts': { access: 'operator' },
  'POST /api/alerts/test': { access: 'operator' },
  'GET /api/organizations': { access: 'operator' },
  'POST /api/organizations': { access: 'operator', input: { name: 'New' } },
  'PATCH /api/organizations/:organization': { access: 'operator', input: { name: 'Renamed' } },
  'POST /api/organizations/:organization/suspension': { access: 'operator' },
  'DELETE /api/organizations/:organization/suspension': { access: 'operator' },
  'POST /api/organizations/:organization/credits': { access: 'operator', input: { amountNanoUsd: '1000' } },
  'GET /api/users': { access: 'operator' },
  'POST /api/users': {
    access: 'operator',
    input: { email: 'another@example.com', operator: true },
    tells: 'link',
  },
  'POST /api/users/:user/reset': { access: 'operator', tells: 'link' },
  'POST /api/users/:user/disablement': { access: 'operator' },
  'DELETE /api/users/:user/disablement': { access: 'operator' },
  'GET /api/price-lists': { access: 'operator' },
  'GET /api/mapping': { access: 'operator' },
  'GET /api/system': { access: 'operator' },
  'GET /api/audit': { access: 'operator' },
  'GET /api/costs': { access: 'operator', input: COSTS },
} as const satisfies Record<Endpoint, Decision>;

const CSV_ROUTES: Readonly<Record<string, Decision>> = {
  [`GET ${ORGANIZATION}/requests.csv`]: { access: 'member' },
  [`GET ${ORGANIZATION}/ledger.csv`]: { access: 'member' },
  [`GET ${ORGANIZATION}/keys.csv`]: { access: 'member' },
  [`GET ${ORGANIZATION}/audit.csv`]: { access: 'owner' },
  'GET /api/requests.csv': { access: 'operator' },
  'GET /api/audit.csv': { access: 'operator' },
  'GET /api/costs.csv': { access: 'operator', input: COSTS },
};

const PLAY = { chat: { model: 'small', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 } };

const RELAYS: Readonly<Record<string, Decision>> = {
  [`POST ${ORGANIZATION}/playground`]: { access: 'member', input: PLAY },
};

/** All routes, by method and path. */
export const DECISIONS: ReadonlyMap<string, Decision> = new Map<string, Decision>([
  ...Object.entries<Decision>(PAGE_ROUTES),
  ...Object.entries(CSV_ROUTES),
  ...Object.entries(RELAYS),
]);
