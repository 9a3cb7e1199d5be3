import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PlayInput } from '#contract/playground.ts';
import { opened } from '../../harness/opened.ts';
import { type ApiStandIn, STREAM, startApi } from './api-stand-in.ts';
import { type Browser, leaveable } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const MOST_BYTES = 4 * 1024 * 1024;
/** The number of longest bodies in the memory share of an organization. */
const PLAYS_OF_SHARE = 4;

const PLAYS_OF_USER = 4;
const PLAYS_OF_ORGANIZATION = 16;

const api = opened(startApi);
const dashboard = opened(() => startDashboard({ playgroundUrl: api.url }));
let organizationId: string;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization();
});

const usual: ApiStandIn['answer'] = (response) => void response.writeHead(200, STREAM).end('data: [DONE]\n\n');
const inputOf = (content: string): PlayInput => ({
  chat: { model: 'small', messages: [{ role: 'user', content }], max_tokens: 100 },
});
const SMALL = inputOf('Hello');
const LARGE = inputOf('A'.repeat(MOST_BYTES - 1_000));
const path = () => `/api/organizations/${organizationId}/playground`;
const play = (browser: Browser, input: PlayInput = SMALL) => browser.send('POST', path(), input);
const member = async () => dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));

describe('bodies of plays', () => {
  const headOf = ({ cookies }: Browser) =>
    [
      `POST ${path()} HTTP/1.1`,
      `host: ${new URL(dashboard.origin).host}`,
      'sec-fetch-site: same-origin',
      `cookie: gateway_session=${cookies.get('gateway_session')}`,
      'content-type: application/json',
    ].join('\r\n');
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Sends the first byte of a body of 4 MiB. Returns a function that reads the response so far. */
  async function stall(browser: Browser): Promise<() => string> {
    let answered = '';
    const socket = connect(Number(new URL(dashboard.origin).port), '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.on('data', (piece) => {
      answered += piece.toString();
    });
    await once(socket, 'connect');
    socket.write(`${headOf(browser)}\r\ncontent-length: ${MOST_BYTES}\r\n\r\n{`);
    return () => answered;
  }

  it('of strangers are refused before they arrive', async () => {
    const answered = await stall(dashboard.browser());
    await expect.poll(answered, { timeout: 20_000 }).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('reserve memory for what has arrived, not for their declared length', async () => {
    const browser = await member();
    const stalled: (() => string)[] = [];
    for (let begun = 0; begun < 2 * PLAYS_OF_SHARE; begun++) stalled.push(await stall(browser));
    for (let played = 0; played < PLAYS_OF_SHARE; played++) expect((await play(browser)).status).toBe(200);
    expect(stalled.map((answered) => answered())).toEqual(stalled.map(() => ''));
  });

  it('use up the memory share of their organization, and do not affect others', async () => {
    api.answer = () => undefined;
    const before = api.seen.length;
    const first = await member();
    const second = await member();
    const url = `${dashboard.origin}${path()}`;
    const leave = Array.from({ length: PLAYS_OF_SHARE }, (_, index) =>
      leaveable(index % 2 === 0 ? first : second, url, LARGE),
    );
    await expect.poll(() => api.seen.length, { timeout: 20_000 }).toBe(before + PLAYS_OF_SHARE);
    api.answer = usual;
    const browser = await member();
    const { status, headers, body } = await play(browser, LARGE);
    expect([status, body.problem, headers['retry-after']]).toEqual([429, 'too_many_requests', '5']);
    const elsewhere = await dashboard.addOrganization('Elsewhere');
    const other = await dashboard.signedIn(await dashboard.addUser({ in: [elsewhere, 'member'] }));
    expect((await other.send('POST', `/api/organizations/${elsewhere}/playground`, LARGE)).status).toBe(200);
    for (const one of leave) one();
    await expect.poll(async () => (await play(browser, LARGE)).status).toBe(200);
  });
});

it('plays use up the share of their organization, and do not affect others', async () => {
  api.answer = () => undefined;
  const before = api.seen.length;
  const leave: (() => void)[] = [];
  for (let begun = 0; begun < PLAYS_OF_ORGANIZATION; begun += PLAYS_OF_USER) {
    const browser = await member();
    for (let own = 0; own < PLAYS_OF_USER; own++) {
      leave.push(leaveable(browser, `${dashboard.origin}${path()}`, SMALL));
    }
  }
  await expect.poll(() => api.seen.length, { timeout: 20_000 }).toBe(before + PLAYS_OF_ORGANIZATION);
  api.answer = usual;
  const browser = await member();
  expect((await play(browser)).body.problem).toBe('too_many_requests');
  const elsewhere = await dashboard.addOrganization('Elsewhere');
  const other = await dashboard.signedIn(await dashboard.addUser({ in: [elsewhere, 'member'] }));
  const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
  expect((await other.send('POST', `/api/organizations/${elsewhere}/playground`, SMALL)).status).toBe(200);
  expect((await play(operator)).status).toBe(200);
  for (const one of leave) one();
  await expect.poll(async () => (await play(browser)).status, { timeout: 20_000 }).toBe(200);
});
