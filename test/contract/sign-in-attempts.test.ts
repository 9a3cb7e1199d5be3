import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { createPool } from '#database/connection/connection-pool.ts';
import { createSession, deleteSession } from '#database/sign-in/sessions.ts';
import { type AttemptResult, countAttempt, forgetAttempts } from '#database/sign-in/sign-in-attempts.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { untilQuarterIsYoung } from '../harness/young-window.ts';
import { openAudited, PASSWORD_HASH } from './audited-database.ts';

const WINDOW_MS = 900_000;
const EMAIL = 'ada@example.com';

describe('attempts to sign in', () => {
  const database = opened(openAudited);
  beforeEach(async () => {
    await sql(database.url, 'truncate sign_in_attempts');
    // A window must not end within a test, or the count begins again.
    await untilQuarterIsYoung();
  });

  const attempt = (email: string, address: string) => countAttempt(database.pool, { email, address });
  const allowed = (results: readonly AttemptResult[]) => results.filter((result) => result.allowed).length;
  async function attempts(times: number, email: (index: number) => string, address: (index: number) => string) {
    const results: AttemptResult[] = [];
    for (let index = 0; index < times; index++) results.push(await attempt(email(index), address(index)));
    return results;
  }
  /** Simulates the end of the window. */
  const passWindow = () =>
    sql(database.url, "update sign_in_attempts set window_start = window_start - interval '15 minutes'");
  const each = (prefix: string) => (index: number) => `${prefix}${index}`;
  const always = (text: string) => () => text;

  it('are ten for an account from an address; others and the account elsewhere are unaffected', async () => {
    const leftSeconds = () => Math.ceil((WINDOW_MS - (Date.now() % WINDOW_MS)) / 1_000);
    const atFirst = leftSeconds();
    const results = await attempts(12, always(EMAIL), always('192.0.2.1'));
    expect(results.map((result) => result.allowed)).toEqual([...Array(10).fill(true), false, false]);
    const [refused] = results.slice(-1);
    const wait = refused && !refused.allowed ? refused.retryAfterSeconds : 0;
    expect(wait).toBeLessThanOrEqual(atFirst + 1);
    expect(wait).toBeGreaterThanOrEqual(leftSeconds() - 1);
    expect(await attempt(' ADA@Example.com', '192.0.2.1')).toMatchObject({ allowed: false });
    expect(await attempt(EMAIL, '198.51.100.1')).toMatchObject({ allowed: true });
    expect(await attempt('bob@example.com', '192.0.2.1')).toMatchObject({ allowed: true });
    await passWindow();
    expect(await attempt(EMAIL, '192.0.2.1')).toMatchObject({ allowed: true });
  });

  it('are a hundred for an account from all addresses, with at most ten from each', async () => {
    await attempts(25, always(EMAIL), always('192.0.2.1'));
    expect(allowed(await attempts(95, always(EMAIL), each('198.51.100.')))).toBe(90);
    expect(await attempt(' ADA@Example.com', '203.0.113.1')).toMatchObject({ allowed: false });
    expect(await attempt('bob@example.com', '203.0.113.1')).toMatchObject({ allowed: true });
    await passWindow();
    expect(await attempt(EMAIL, '203.0.113.1')).toMatchObject({ allowed: true });
  });

  it('of others do not lock an account at an address with its session, where ten are allowed too', async () => {
    const { id, email } = await database.addUser();
    const session = { id: newId('ses', Date.now()), tokenHash: randomBytes(32), userId: id };
    const from = { address: '2001:db8:7::1', passwordHash: PASSWORD_HASH };
    expect(await createSession(database.pool, { ...session, ...from })).toBe(true);
    expect(allowed(await attempts(105, always(email), each('198.51.100.')))).toBe(100);
    expect(await attempt(email, '203.0.113.1')).toMatchObject({ allowed: false });
    expect(allowed(await attempts(12, always(email.toUpperCase()), each('2001:db8:7::')))).toBe(10);
    expect(await attempt(EMAIL, '198.51.100.1')).toMatchObject({ allowed: true });
    await deleteSession(database.pool, { id, email, isOperator: false }, session.id, from.address);
    await passWindow();
    await attempts(105, always(email), each('198.51.100.'));
    expect(await attempt(email, '2001:db8:7::1')).toMatchObject({ allowed: false });
  });

  it('are thirty for an address at all accounts, and a /64 of IPv6 is one address', async () => {
    expect(allowed(await attempts(32, each('user'), always('192.0.2.1')))).toBe(30);
    expect(allowed(await attempts(32, each('guest'), (index) => `2001:db8::${index.toString(16)}`))).toBe(30);
    expect(await attempt('user0', '2001:db8:0:1::1')).toMatchObject({ allowed: true });
    await passWindow();
    expect(await attempt('user0', '192.0.2.1')).toMatchObject({ allowed: true });
  });

  it('are a hundred for a /48 of IPv6, from any of its /64s', async () => {
    const elsewhere = (index: number) => `2001:db8:9:${index.toString(16)}::1`;
    expect(allowed(await attempts(105, each('user'), elsewhere))).toBe(100);
    expect(await attempt('user0', '2001:db8:a::1')).toMatchObject({ allowed: true });
    expect(await attempt('user0', '2001:db8:9:ffff::1')).toMatchObject({ allowed: false });
  });

  it('are thirty for a client that an untrusted proxy names, and a thousand for all of its clients', async () => {
    const through = (claimedAddress: string, email = EMAIL) =>
      countAttempt(database.pool, { email, address: '10.0.0.5', claimedAddress });
    const results: AttemptResult[] = [];
    for (let index = 0; index < 32; index++) results.push(await through('198.51.100.1', `user${index}`));
    expect(allowed(results)).toBe(30);
    expect(await through('198.51.100.2')).toMatchObject({ allowed: true });
    await sql(database.url, "update sign_in_attempts set attempts = 1000 where subject = 'proxy address 10.0.0.5'");
    expect(await through('198.51.100.3')).toMatchObject({ allowed: false });
    expect(await attempt(EMAIL, '10.0.0.5')).toMatchObject({ allowed: true });
  });

  it('through an untrusted proxy have one share at an account, also if the user has a session there', async () => {
    const { id, email } = await database.addUser();
    const session = { id: newId('ses', Date.now()), tokenHash: randomBytes(32), userId: id };
    await createSession(database.pool, { ...session, address: '10.0.0.5', passwordHash: PASSWORD_HASH });
    const results: AttemptResult[] = [];
    for (let index = 0; index < 105; index++) {
      results.push(
        await countAttempt(database.pool, { email, address: '10.0.0.5', claimedAddress: `made up ${index}` }),
      );
    }
    // One more than a client's share, so that a peer cannot lock an account by inventing clients.
    expect(allowed(results)).toBe(11);
    expect(await attempt(email, '198.51.100.1')).toMatchObject({ allowed: true });
    // A sign-in from behind the proxy gives the whole share back.
    await forgetAttempts(database.pool, email, { address: '10.0.0.5', claimedAddress: 'made up 1' });
    expect(
      await countAttempt(database.pool, { email, address: '10.0.0.5', claimedAddress: 'made up 1' }),
    ).toMatchObject({ allowed: true });
  });

  it('of an address above its share do not count against accounts', async () => {
    await attempts(30, each('user'), always('192.0.2.1'));
    expect(allowed(await attempts(15, always(EMAIL), always('192.0.2.1')))).toBe(0);
    expect(allowed(await attempts(12, always(EMAIL), always('192.0.2.2')))).toBe(10);
  });

  it('are counted exactly when they are concurrent in several processes', async () => {
    const other = createPool(database.url, 8, PATIENT, SILENT);
    const side = (index: number) => (index % 2 === 0 ? database.pool : other);
    const same = await Promise.all(
      Array.from({ length: 40 }, (_, index) => countAttempt(side(index), { email: EMAIL, address: '192.0.2.1' })),
    );
    expect(allowed(same)).toBe(10);
    const mixed = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        countAttempt(side(index), { email: `user${index % 7}`, address: `198.51.100.${index % 2}` }),
      ),
    );
    expect(allowed(mixed)).toBe(60);
    await other.end();
  });

  it('of an account are no longer counted after a sign-in; its address gets back one', async () => {
    await attempts(10, always(EMAIL), always('192.0.2.1'));
    await attempts(95, always(EMAIL), each('198.51.100.'));
    expect(await attempt(EMAIL, '192.0.2.9')).toMatchObject({ allowed: false });
    await forgetAttempts(database.pool, EMAIL.toUpperCase(), { address: '192.0.2.1' });
    expect(await attempt(EMAIL, '192.0.2.9')).toMatchObject({ allowed: true });
    // The account's attempts from there are deleted, but nine of ten still count for the address.
    expect(allowed(await attempts(11, always(EMAIL), always('192.0.2.1')))).toBe(10);
    expect(allowed(await attempts(30, each('user'), always('192.0.2.1')))).toBe(10);
    // Setting a password by a link was no attempt, so it gives none back.
    await forgetAttempts(database.pool, EMAIL);
    expect(await attempt(EMAIL, '192.0.2.1')).toMatchObject({ allowed: false });
    expect(await attempt(EMAIL, '192.0.2.3')).toMatchObject({ allowed: true });
  });

  it('let a whole office sign in, and concurrent counting and forgetting do not deadlock', async () => {
    const someone = async (desk: number) => {
      const results: AttemptResult[] = [];
      for (let index = 0; index < 15; index++) {
        const email = `user${(desk + index) % 4}`;
        results.push(await attempt(email, '192.0.2.1'));
        await forgetAttempts(database.pool, email, { address: '192.0.2.1' });
      }
      return results;
    };
    const desks = await Promise.all(Array.from({ length: 6 }, (_, desk) => someone(desk)));
    expect(allowed(desks.flat())).toBe(90);
    const left = await sql(database.url, 'select subject, attempts from sign_in_attempts');
    expect(left).toEqual([{ subject: 'address 192.0.2.1', attempts: 0 }]);
  });

  it('are deleted after their window, some with every attempt', async () => {
    await sql(
      database.url,
      `insert into sign_in_attempts select 'address ' || n, now() - interval '1 hour', 1 from generate_series(1, 250) n`,
    );
    const left = async () =>
      (await sql(database.url, "select from sign_in_attempts where window_start < now() - interval '30 minutes'"))
        .length;
    await attempt(EMAIL, '192.0.2.1');
    expect(await left()).toBe(150);
    await attempts(2, always(EMAIL), always('192.0.2.1'));
    expect(await left()).toBe(0);
  });
});
