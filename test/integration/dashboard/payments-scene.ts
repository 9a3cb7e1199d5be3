import { beforeAll, beforeEach, expect } from 'vitest';
import type { TopUpsView } from '#contract/top-ups.ts';
import type { Role } from '#database/schema/roles.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { startScriptedStripe } from '../../stripe/scripted-stripe.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

/**
 * A dashboard whose payments go to a scripted Stripe, with an organization and an owner for each
 * test.
 */
export function paymentsScene(role?: Role) {
  const stripe = opened(startScriptedStripe);
  const dashboard = opened(() => startDashboard({ stripe: stripe.config }, role));
  let organizationId: string;
  let owner: Browser;

  beforeAll(() => {
    stripe.deliverTo = dashboard.origin;
  });
  beforeEach(async () => {
    Object.assign(stripe, { away: false, instead: undefined });
    dashboard.configure({ stripe: stripe.config });
    organizationId = await dashboard.addOrganization();
    owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  });

  const at = (what: string) => `/api/organizations/${organizationId}/${what}`;
  /** Begins a payment. Returns the top-up and its session at Stripe. */
  const begin = async (amountUsd = 10): Promise<{ readonly id: string; readonly session: string }> => {
    const { status, body } = await owner.send<{ id: string; url: string }>('POST', at('top-ups'), { amountUsd });
    if (status !== 200) throw new Error(`the payment was not begun: ${status}`);
    return { id: body.id, session: body.url.split('/').at(-1) ?? '' };
  };
  const view = async () => (await owner.get<TopUpsView>(at('top-ups'))).body;
  return {
    stripe,
    dashboard,
    at,
    view,
    states: async () => (await view()).topUps.map(({ state }) => state),
    get organizationId() {
      return organizationId;
    },
    get owner() {
      return owner;
    },

    /** The balance in USD. */
    async balance(of = organizationId): Promise<number> {
      return Number((await dashboard.administration.organization(of))?.balanceNanoUsd) / 1e9;
    },

    /** The ledger entries, with amounts in USD. */
    async entries(): Promise<readonly (readonly [number, string | null])[]> {
      const rows = await sql<{ usd: string; reference: string | null }>(
        dashboard.databaseUrl,
        `select amount_nano_usd / 1e9 as usd, reference from ledger_entries where organization_id = '${organizationId}' order by sequence`,
      );
      return rows.map(({ usd, reference }) => [Number(usd), reference]);
    },

    begin,

    /** Makes a payment, of which Stripe tells the dashboard. Returns it. */
    async paid(amountUsd?: number): Promise<string> {
      const payment = stripe.world.complete((await begin(amountUsd)).session);
      expect(new Set(await stripe.deliverAll())).toEqual(new Set([200]));
      return payment;
    },

    async saveCard(): Promise<void> {
      const begun = await owner.send<{ url: string }>('POST', at('card'));
      stripe.world.complete(begun.body.url.split('/').at(-1) ?? '');
      await stripe.deliverAll();
    },
  };
}
