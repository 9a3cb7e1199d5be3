import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeAlertSettings, NEW_ALERTS } from '#database/alerts/alert-settings.ts';
import { sendOperatorsTest } from '#database/alerts/operator-crossings.ts';
import {
  type AttemptResult,
  addMessage,
  endAttempt,
  type LeasedMessage,
  leaseMessages,
  MAX_ASKED_A_DAY,
  MAX_KEPT,
  MAX_MAILS_A_DAY,
  MAX_WAITING,
} from '#database/alerts/outbox.ts';
import { listDeliveries } from '#database/alerts/outbox-rows.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { untilDayIsYoung } from '../harness/young-window.ts';
import { openAudited } from './audited-database.ts';

const result = (kind: AttemptResult['kind']): AttemptResult => ({ kind, text: kind, tookMs: 1 });

describe('the outbox', () => {
  const database = opened(openAudited);

  const add = (organizationId: string, receiver: string, number: number) =>
    addMessage(database.pool, { organizationId, channel: 'mail', receiver, kind: 'balance.low', content: { number } });
  /** Ends all delays and leases. */
  const passTime = () =>
    sql(database.url, "update outbox set next_attempt_at = now(), leased_until = leased_until - interval '1 hour'");
  const only = async (): Promise<LeasedMessage> => {
    const [message, ...others] = await leaseMessages(database.pool, 10);
    if (message === undefined || others.length > 0) throw new Error('not exactly one message');
    return message;
  };

  it('sends every message, in order for each receiver, despite failures and crashes', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), to: fc.integer({ min: 0, max: 2 }) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('lease' as const), by: fc.integer({ min: 0, max: 2 }) }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('end' as const),
          by: fc.integer({ min: 0, max: 2 }),
          how: fc.constantFrom('delivered', 'failed', 'failed', 'crashed', 'late'),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const organizationId = await database.addOrganization();
        const receivers = ['a', 'b', 'c'].map((name) => `${name}@${organizationId}`);
        const added = new Map<string, number>(receivers.map((receiver) => [receiver, 0]));
        const received = new Map<string, number[]>(receivers.map((receiver) => [receiver, []]));
        const dashboards: LeasedMessage[][] = [[], [], []];
        const receive = ({ receiver, content }: LeasedMessage) => received.get(receiver)?.push(Number(content.number));
        const lease = async (by: number) => {
          const messages = await leaseMessages(database.pool, 10);
          // No message is leased by two dashboards, and no receiver has two leased messages.
          expect(new Set(messages.map(({ receiver }) => receiver)).size).toBe(messages.length);
          dashboards[by]?.push(...messages);
        };
        for (const one of steps) {
          if (one.do === 'add') {
            const receiver = receivers[one.to] ?? '';
            const number = added.get(receiver) ?? 0;
            added.set(receiver, number + 1);
            await add(organizationId, receiver, number);
          } else if (one.do === 'lease') await lease(one.by);
          else if (one.do === 'pass') await passTime();
          else {
            const message = dashboards[one.by]?.shift();
            if (message === undefined) continue;
            if (one.how === 'failed') await endAttempt(database.pool, message, result('failed'));
            else receive(message);
            if (one.how === 'delivered') await endAttempt(database.pool, message, result('delivered'));
            if (one.how === 'late') {
              await passTime();
              await lease((one.by + 1) % 3);
              await endAttempt(database.pool, message, result('delivered'));
            }
          }
        }
        for (let rounds = 0; rounds <= steps.length; rounds++) {
          await passTime();
          for (const message of await leaseMessages(database.pool, 10)) {
            receive(message);
            await endAttempt(database.pool, message, result('delivered'));
          }
        }
        for (const [receiver, numbers] of received) {
          const firsts = numbers.filter((number, at) => numbers.indexOf(number) === at);
          expect(firsts).toEqual(Array.from({ length: added.get(receiver) ?? 0 }, (_, number) => number));
        }
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  it('does not delay an organization by another with the same receiver', async () => {
    const organizations = [await database.addOrganization(), await database.addOrganization()];
    for (const one of organizations) for (const number of [0, 1]) await add(one, 'shared@example.com', number);
    const leased = await leaseMessages(database.pool, 10);
    expect(leased.map(({ organizationId, content }) => [organizationId, content.number]).sort()).toEqual(
      organizations.map((one) => [one, 0]).sort(),
    );
    await sql(database.url, "update outbox set finished_at = now(), outcome = 'delivered' where finished_at is null");
  });

  it('drops waiting alerts for an address that an owner removes, but no invitation', async () => {
    const [organizationId, other] = [await database.addOrganization(), await database.addOrganization()];
    const typo = 'typo@stranger.example';
    const receive = (id: string, emails: readonly string[]) =>
      changeAlertSettings(database.pool, id, () => ({ ...NEW_ALERTS, emails }), BY);
    for (const id of [organizationId, other]) {
      await receive(id, ['right@example.com', typo]);
      for (const receiver of ['right@example.com', typo]) await add(id, receiver, 0);
    }
    const invitation = { organizationId, channel: 'mail', receiver: typo, kind: 'invitation', content: {} } as const;
    await addMessage(database.pool, invitation);
    // Attempts are in flight.
    const leased = await leaseMessages(database.pool, 10);
    await receive(organizationId, ['right@example.com']);
    for (const message of leased) await endAttempt(database.pool, message, result('failed'));
    const deliveries = async (id: string) =>
      (await listDeliveries(database.pool, id)).map(({ receiver, kind, state }) => [receiver, kind, state]);
    expect(await deliveries(organizationId)).toEqual([
      [typo, 'invitation', 'waiting'],
      [typo, 'balance.low', 'dropped'],
      ['right@example.com', 'balance.low', 'waiting'],
    ]);
    expect((await deliveries(other)).map(([, , state]) => state)).toEqual(['waiting', 'waiting']);
    await sql(database.url, "update outbox set finished_at = now(), outcome = 'delivered' where finished_at is null");
  });

  it('is leased by only one of several concurrent dashboards', async () => {
    const organizationId = await database.addOrganization();
    for (const receiver of ['a', 'b', 'c', 'd']) await add(organizationId, `${receiver}@once`, 0);
    const leased = await Promise.all(Array.from({ length: 6 }, () => leaseMessages(database.pool, 3)));
    expect(
      leased
        .flat()
        .map(({ receiver }) => receiver)
        .sort(),
    ).toEqual(['a@once', 'b@once', 'c@once', 'd@once']);
    await Promise.all(leased.flat().map((message) => endAttempt(database.pool, message, result('delivered'))));
  });

  it('retries with growing delays for a day, and shows each attempt', async () => {
    const organizationId = await database.addOrganization();
    await add(organizationId, 'down@example.com', 0);
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      const message = await only();
      expect(message.attempt).toBe(attempt);
      expect(await endAttempt(database.pool, message, result('failed'))).toBe(true);
      expect(await leaseMessages(database.pool, 10)).toEqual([]);
      const [row] = await listDeliveries(database.pool, organizationId);
      delays.push(Math.round(((row?.nextAttemptAtMs ?? 0) - Date.now()) / 1000));
      await passTime();
    }
    expect(delays.at(-1)).toBeGreaterThan((delays[0] ?? 0) + 15);
    await sql(
      database.url,
      "update outbox set created_at = now() - interval '1 day' where receiver = 'down@example.com'",
    );
    await endAttempt(database.pool, await only(), result('failed'));
    expect(await listDeliveries(database.pool, organizationId)).toMatchObject([
      { state: 'failed', attempts: [1, 2, 3, 4, 5].map((attempt) => ({ attempt, result: 'failed', tookMs: 1 })) },
    ]);
    await passTime();
    expect(await leaseMessages(database.pool, 10)).toEqual([]);
  });

  it('bounds the waiting messages of an organization, and shows dropped ones', async () => {
    const [full, other] = [await database.addOrganization(), await database.addOrganization()];
    for (let number = 0; number <= MAX_WAITING; number++) await add(full, 'many@example.com', number);
    await add(other, 'other@example.com', 0);
    expect((await listDeliveries(database.pool, full)).slice(0, 2).map(({ state }) => state)).toEqual([
      'dropped',
      'waiting',
    ]);
    expect((await listDeliveries(database.pool, other)).map(({ state }) => state)).toEqual(['waiting']);
  });

  it('has room for operator alerts that requests for new passwords cannot use up', async () => {
    const mail = (kind: string) => ({ channel: 'mail', receiver: `${kind}@example.com`, kind, content: {} }) as const;
    for (let number = 0; number < MAX_WAITING; number++)
      expect(await addMessage(database.pool, mail('forgotten'))).toBe(true);
    expect(await addMessage(database.pool, mail('forgotten'))).toBe(false);
    expect(await addMessage(database.pool, mail('ledger.losses'))).toBe(true);
    const end = () =>
      sql(database.url, "update outbox set finished_at = now(), outcome = 'delivered' where outcome is null");
    for (let number = 0; number <= MAX_KEPT; number += MAX_WAITING) {
      await end();
      for (let more = 0; more < MAX_WAITING; more++) await addMessage(database.pool, mail('forgotten'));
    }
    expect((await listDeliveries(database.pool, undefined)).map(({ kind }) => kind)).toContain('ledger.losses');
    const [kept] = await sql(database.url, "select count(*)::integer as mails from outbox where kind = 'forgotten'");
    expect(kept).toEqual({ mails: MAX_KEPT });
    await sql(database.url, 'delete from outbox where organization_id is null');
  });

  it('reports how many operators are sent a test if too many messages wait', async () => {
    const waiting = { channel: 'mail', receiver: 'busy@example.com', kind: 'ledger.losses', content: {} } as const;
    for (let number = 1; number < MAX_WAITING; number++) await addMessage(database.pool, waiting);
    expect(await sendOperatorsTest(database.pool, ['a@example.com', 'b@example.com'])).toBe(1);
    expect(await sendOperatorsTest(database.pool, ['a@example.com', 'b@example.com'])).toBe(0);
    const tests = (await listDeliveries(database.pool, undefined)).filter(({ kind }) => kind === 'operators.test');
    expect(tests.map(({ state }) => state).sort()).toEqual(['dropped', 'waiting']);
  });

  it('bounds the daily mails of an organization to one address, and more strictly those that people request', async () => {
    await untilDayIsYoung();
    const [spammer, other] = [await database.addOrganization(), await database.addOrganization()];
    const taken = async (organizationId: string, kind: string, attempts: number, receiver = 'stranger@example.com') => {
      let sent = 0;
      for (let made = 0; made < attempts; made++) {
        const message = { organizationId, channel: 'mail', receiver, kind, content: {} } as const;
        if (await addMessage(database.pool, message)) sent += 1;
        // A delivered mail still counts after its row is deleted.
        await sql(database.url, `delete from outbox where organization_id = '${organizationId}'`);
      }
      return sent;
    };
    expect(await taken(spammer, 'invitation', MAX_ASKED_A_DAY - 1)).toBe(MAX_ASKED_A_DAY - 1);
    expect(await taken(spammer, 'test', 3)).toBe(1);
    expect(await taken(spammer, 'test', 1, 'another@example.com')).toBe(1);
    expect(await taken(other, 'invitation', 1)).toBe(1);
    await sql(
      database.url,
      `update change_counts set changes = ${MAX_MAILS_A_DAY - 1} where subject like 'mails ${spammer} stranger%'`,
    );
    expect(await taken(spammer, 'balance.low', 3)).toBe(1);
  });
});
