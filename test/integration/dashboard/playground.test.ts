import { hash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { GATEWAY_STATUS, type PlayChat, type PlayInput } from '#contract/playground.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { MAX_RESPONSE_BYTES } from '#dashboard/server/playground/ask-gateway.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { untilDayIsYoung } from '../../harness/young-window.ts';
import { type ApiStandIn, STREAM, startApi } from './api-stand-in.ts';
import { type Browser, leaveable } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const DOLLAR = 1_000_000_000n;

const api = opened(startApi);
const dashboard = opened(() => startDashboard({ playgroundUrl: api.url }));
let organizationId: string;
let owner: Browser;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization('Acme', { dailyBudgetNanoUsd: DOLLAR / 2n });
});

const usual = (response: Parameters<ApiStandIn['answer']>[0]) =>
  void response.writeHead(200, STREAM).end('data: [DONE]\n\n');
afterEach(() => {
  api.answer = usual;
  dashboard.setNow(undefined);
  dashboard.configure({ playgroundUrl: api.url });
});

const CHAT: PlayChat = { model: 'small', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 };
const MUCH = [{ role: 'user', content: [{ type: 'text', text: 'A'.repeat(1024 * 1024) }] }] as const;
const INPUT: PlayInput = { chat: CHAT };
const path = () => `/api/organizations/${organizationId}/playground`;
const play = (browser: Browser, change: Partial<PlayChat> = {}, rest: Omit<PlayInput, 'chat'> = {}) =>
  browser.send('POST', path(), { chat: { ...CHAT, ...change }, ...rest });
const newMember = async () => {
  const user = await dashboard.addUser({ in: [organizationId, 'member'] });
  return { user, browser: await dashboard.signedIn(user) };
};
const newest = () => {
  const seen = api.seen.at(-1);
  if (seen === undefined) throw new Error('nothing came to the API');
  return seen;
};
interface KeyRow extends Readonly<Record<'id' | 'name' | 'budget' | 'lifetime', string>> {
  readonly models: string[];
  readonly scopes: string[];
  readonly rpm: string | null;
  readonly lives: number;
  readonly active: boolean;
}
const keyOf = async (secret: string): Promise<KeyRow> => {
  const [row] = await sql<KeyRow>(
    dashboard.databaseUrl,
    `select id, name, models, scopes, rpm, daily_budget_nano_usd as budget, lifetime_budget_nano_usd as lifetime, revoked_at is null as active,
       round(extract(epoch from expires_at - created_at) / 60)::integer as lives
     from keys where hash = decode('${hash('sha256', secret, 'hex')}', 'hex')`,
  );
  if (row === undefined) throw new Error('the API was sent a key that nobody made');
  return row;
};

describe('a play', () => {
  it('is forwarded with a short-lived key for its model with a budget, whose secret is not returned', async () => {
    const { browser } = await newMember();
    const reply = await play(browser, { messages: MUCH, temperature: 0.5, ...{ stream: false } });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({ [GATEWAY_STATUS]: '200', 'x-request-id': 'request-1' });
    expect(reply.headers['set-cookie']).toBeUndefined();
    const { secret, body } = newest();
    expect(body).toEqual({
      ...{ ...CHAT, messages: MUCH, temperature: 0.5 },
      ...{ stream: true, stream_options: { include_usage: true } },
    });
    expect(await keyOf(secret)).toMatchObject({
      ...{ name: 'Playground', models: ['small'], scopes: ['chat'], lives: 15, active: true },
      // The organization's daily budget is below a dollar; a key's lifetime may span two days.
      ...{ budget: String(DOLLAR / 2n), lifetime: String(DOLLAR) },
    });
    expect(`${reply.text}${JSON.stringify(reply.headers)}`).not.toContain(secret);
  });

  it('keeps its key, and gets a new one for another model, which revokes the former', async () => {
    const { user, browser } = await newMember();
    await play(browser);
    const first = newest().secret;
    await play(browser);
    expect(newest().secret).toBe(first);
    await play(browser, { model: 'large' });
    const second = newest().secret;
    expect(second).not.toBe(first);
    expect([(await keyOf(first)).active, (await keyOf(second)).active]).toEqual([false, true]);
    const living = `select 1 from keys where created_by = '${user.id}' and revoked_at is null`;
    expect(await sql(dashboard.databaseUrl, living)).toHaveLength(1);
  });

  it('gets a new key before the old one expires, and after it was revoked', async () => {
    const { browser } = await newMember();
    await play(browser);
    const first = newest().secret;
    dashboard.setNow(Date.now() + 14.5 * 60_000);
    await play(browser);
    const second = newest().secret;
    expect(second).not.toBe(first);
    await dashboard.administration.revokeKey((await keyOf(second)).id, BY);
    await play(browser);
    expect(newest().secret).not.toBe(second);
  });

  it('counts as a change only when it makes a key', async () => {
    // Only the daily limit applies, because a minute may end between two plays.
    await untilDayIsYoung();
    const limits = { perMinute: 1_000_000, perDay: 1 };
    const limited = await startDashboard({ playgroundUrl: api.url }, undefined, limits);
    try {
      const organization = await limited.addOrganization();
      const browser = await limited.signedIn(await limited.addUser({ in: [organization, 'member'] }));
      const send = (model: string) =>
        browser.send('POST', `/api/organizations/${organization}/playground`, { chat: { ...CHAT, model } });
      expect([await send('small'), await send('small')].map(({ status }) => status)).toEqual([200, 200]);
      expect((await send('large')).body.problem).toBe('too_many_requests');
      expect((await send('small')).status).toBe(200);
    } finally {
      await limited.close();
    }
  });

  it('that two tabs begin at once has one key', async () => {
    const { browser } = await newMember();
    const before = api.seen.length;
    await Promise.all([play(browser), play(browser)]);
    expect(new Set(api.seen.slice(before).map(({ secret }) => secret)).size).toBe(1);
  });

  it('of two models side by side has one key for both', async () => {
    const { browser } = await newMember();
    await play(browser, {}, { beside: 'large' });
    const { secret } = newest();
    await play(browser, { model: 'large' }, { beside: 'small' });
    expect(newest().secret).toBe(secret);
    expect((await keyOf(secret)).models).toEqual(['large', 'small']);
  });

  it('has a key that is neither listed nor counted', async () => {
    const { user, browser } = await newMember();
    await play(browser);
    const { id } = await keyOf(newest().secret);
    const keys = `/api/organizations/${organizationId}/keys`;
    expect((await browser.get(keys)).text).not.toContain(id);
    expect((await browser.get(`${keys}/${id}`)).status).toBe(200);
    owner ??= await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
    const { body } = await owner.get<{ members: { userId: string; activeKeys: number }[] }>(
      `/api/organizations/${organizationId}/members`,
    );
    expect(body.members.find(({ userId }) => userId === user.id)?.activeKeys).toBe(0);
  });

  it('has a key that cannot be changed or replaced', async () => {
    const { browser } = await newMember();
    await play(browser);
    const { id } = await keyOf(newest().secret);
    const key = `/api/organizations/${organizationId}/keys/${id}`;
    const changed = await browser.send('PATCH', key, { dailyBudgetNanoUsd: null, expiresAtMs: null });
    const replaced = await browser.send('POST', `${key}/replacement`, { revokeOldAfterHours: 0 });
    expect([changed.body.problem, replaced.body.problem]).toEqual(['not_found', 'not_found']);
    expect((await browser.send('POST', `${key}/revocation`)).status).toBe(200);
  });

  it('has its key revoked when the member is removed, also if the keys are handed over', async () => {
    const { user, browser } = await newMember();
    await play(browser);
    const { secret } = newest();
    owner ??= await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
    const members = `/api/organizations/${organizationId}/members/${user.id}`;
    expect((await owner.send('DELETE', members, { revokeKeys: false })).status).toBe(200);
    expect((await keyOf(secret)).active).toBe(false);
    // Simulates a play that began before the removal and asks for its key now.
    const key = { ...newKeySecret(Date.now()).identity, organizationId, name: 'late', scopes: ['chat'] as const };
    const late = dashboard.administration.createPlaygroundKey(key, { actor: 'x', userId: user.id });
    expect(await late).toBeUndefined();
  });
});

describe('restrictions of a key', () => {
  const addKey = async (settings: object) => {
    const { identity } = newKeySecret(Date.now());
    const key = { ...identity, organizationId, name: 'Backend', scopes: ['chat'] as const, ...settings };
    await dashboard.administration.createKey(key, BY);
    return identity.id;
  };

  it('apply to the play, with the chosen model if the key allows it', async () => {
    const { browser } = await newMember();
    const limits = { requestsPerMinute: 7, dailyBudgetNanoUsd: 1000n };
    const likeKey = await addKey({ models: ['small', 'large'], ...limits });
    await play(browser, {}, { likeKey });
    expect(await keyOf(newest().secret)).toMatchObject({ models: ['small'], rpm: '7', budget: '1000' });
    await play(browser, { model: 'other' }, { likeKey });
    expect((await keyOf(newest().secret)).models).toEqual(['small', 'large']);
    await play(browser, {}, { likeKey: await addKey({ scopes: ['usage:read'] }) });
    expect((await keyOf(newest().secret)).scopes).toEqual(['usage:read']);
  });

  it('cannot be those of a revoked key, or of another organization', async () => {
    const { browser } = await newMember();
    const ended = await addKey({});
    await dashboard.administration.revokeKey(ended, BY);
    expect((await play(browser, {}, { likeKey: ended })).body.fields).toHaveProperty('likeKey');
    expect((await play(browser, {}, { likeKey: `key-${'0'.repeat(26)}` })).body.problem).toBe('not_found');
  });
});

describe('the relay', () => {
  it('forwards an error of the gateway unchanged, with its status in a header', async () => {
    const { browser } = await newMember();
    const error = {
      error: { message: 'No.', type: 'insufficient_credits', code: 'insufficient_credits', metadata: {} },
    };
    api.answer = (response) => void response.writeHead(402, { 'retry-after': '3' }).end(JSON.stringify(error));
    const reply = await play(browser);
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({ [GATEWAY_STATUS]: '402', 'retry-after': '3' });
    expect(reply.body).toEqual(error);
  });

  it('cancels the request when the browser disconnects, before and during the response', async () => {
    const { browser } = await newMember();
    for (const begun of [false, true]) {
      api.answer = (response) => void (begun && response.writeHead(200, STREAM).write(': heartbeat\n\n'));
      const before = api.seen.length;
      const leave = leaveable(browser, `${dashboard.origin}${path()}`, INPUT);
      await expect.poll(() => api.seen.length, { timeout: 20_000 }).toBe(before + 1);
      leave();
      await expect.poll(() => newest().ended(), { timeout: 20_000 }).toBe(true);
    }
  });

  it('runs four plays of a user at once, and a fifth when one has ended', async () => {
    const { browser } = await newMember();
    api.answer = () => undefined;
    const before = api.seen.length;
    const leave = Array.from({ length: 4 }, () => leaveable(browser, `${dashboard.origin}${path()}`, INPUT));
    await expect.poll(() => api.seen.length, { timeout: 20_000 }).toBe(before + 4);
    expect((await play(browser)).body.problem).toBe('too_many_requests');
    const { browser: other } = await newMember();
    api.answer = usual;
    expect((await play(other)).status).toBe(200);
    for (const one of leave) one();
    await expect.poll(async () => (await play(browser)).status, { timeout: 20_000 }).toBe(200);
  });

  it('cuts a response that is too long, and cancels the request', async () => {
    const { browser } = await newMember();
    const piece = 'x'.repeat(1024 * 1024);
    api.answer = (response) => {
      response.writeHead(200, STREAM);
      for (let sent = 0; sent <= MAX_RESPONSE_BYTES; sent += piece.length) response.write(piece);
    };
    const reply = await play(browser);
    expect(reply.text.length).toBeLessThanOrEqual(MAX_RESPONSE_BYTES);
    await expect.poll(() => newest().ended(), { timeout: 20_000 }).toBe(true);
  });

  it('does not follow a redirect', async () => {
    const { browser } = await newMember();
    api.answer = (response) => void response.writeHead(307, { location: `${api.url}/elsewhere` }).end('{}');
    const before = api.seen.length;
    expect((await play(browser)).headers[GATEWAY_STATUS]).toBe('307');
    expect(api.seen.length).toBe(before + 1);
  });

  it('says when the gateway cannot be reached, and when there is no playground', async () => {
    const { browser } = await newMember();
    dashboard.configure({ playgroundUrl: 'http://127.0.0.1:1/v1' });
    expect((await play(browser)).body.problem).toBe('unavailable');
    dashboard.configure({});
    expect((await play(browser)).body.problem).toBe('conflict');
  });

  it('refuses requests from another site, and too long or malformed ones', async () => {
    const { browser } = await newMember();
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await browser.send('POST', path(), INPUT, foreign)).body.problem).toBe('cross_site');
    const long = [{ role: 'user', content: 'x'.repeat(4 * 1024 * 1024) }] as const;
    expect((await play(browser, { messages: long })).body.problem).toBe('too_large');
    expect((await play(browser, { messages: [] })).body.problem).toBe('invalid');
    expect((await play(browser, { max_tokens: 0 })).body.problem).toBe('invalid');
    const deep = JSON.stringify(INPUT).replace('"Hello"', '['.repeat(50_000) + ']'.repeat(50_000));
    for (let i = 0; i < 5; i++) expect((await browser.send('POST', path(), deep)).body.problem).toBe('invalid');
    expect((await play(browser)).status).toBe(200);
  });
});
