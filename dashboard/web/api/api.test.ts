import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { queryText } from '#contract/define-search.ts';
import { ApiProblem, ask, endpointUrl, send } from './api.ts';

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

/** Returns the same response to every request, and records the requests. */
function answerWith(answer: () => Response | Promise<Response>): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    sent.push({ url, init });
    return Promise.resolve().then(answer);
  });
  return sent;
}

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ApiProblem);
      return error as ApiProblem;
    },
  );

afterEach(() => vi.unstubAllGlobals());

describe('ask', () => {
  it('sends cookies of this site only, no body, and bypasses caches', async () => {
    const sent = answerWith(() => json({ keys: [] }));
    const answer = await ask('GET /api/organizations/:organization/keys', { params: { organization: 'org-1' } });
    expect(answer).toEqual({ keys: [] });
    expect(sent[0]).toMatchObject({
      url: '/api/organizations/org-1/keys',
      init: { method: 'GET', credentials: 'same-origin', cache: 'no-store', redirect: 'error' },
    });
    expect(sent[0]?.init).not.toHaveProperty('body');
  });

  it('ends with its own signal, with the reason of the caller', async () => {
    vi.stubGlobal('fetch', (_: string, { signal }: RequestInit) =>
      Promise.reject(signal?.aborted ? signal.reason : new Error('not ended')),
    );
    const reason = new Error('left the page');
    await expect(ask('GET /api/session', {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('send', () => {
  it('always has a JSON body, which a form of another site cannot send', async () => {
    const sent = answerWith(() => new Response(null, { status: 204 }));
    expect(await send('DELETE /api/session')).toEqual({});
    await send('POST /api/session', { body: { email: 'a@b.c', password: 'p' } });
    expect(sent.map(({ init }) => init.body)).toEqual(['{}', '{"email":"a@b.c","password":"p"}']);
    expect(sent.map(({ init }) => init.headers)).toEqual(Array(2).fill({ 'content-type': 'application/json' }));
  });
});

describe('a problem', () => {
  it('is the server’s message, field by field', async () => {
    answerWith(() => json({ problem: 'invalid', message: 'Not so.', fields: { name: 'Too long.' } }, 400));
    const problem = await problemOf(ask('GET /api/session', {}));
    expect(problem).toMatchObject({
      problem: 'invalid',
      message: 'Not so.',
      fields: { name: 'Too long.' },
      isConnection: false,
    });
  });

  it.each([
    [401, 'not_signed_in'],
    [502, 'unreachable'],
    [503, 'unreachable'],
    [500, 'internal'],
    [200, 'internal'],
  ])('with status %i and without our JSON is %s', async (status, kind) => {
    answerWith(() => new Response('<h1>a proxy</h1>', { status }));
    expect((await problemOf(ask('GET /api/session', {}))).problem).toBe(kind);
  });

  it('is the connection if there was no response', async () => {
    answerWith(() => Promise.reject(new TypeError('Failed to fetch')));
    expect(await problemOf(ask('GET /api/session', {}))).toMatchObject({ problem: 'unreachable', isConnection: true });
  });

  it('is the deadline if the response was late', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
    answerWith(() => Promise.reject(new DOMException('', 'TimeoutError')));
    expect(await problemOf(ask('GET /api/session', {}))).toMatchObject({ problem: 'timed_out', isConnection: true });
    timeout.mockRestore();
  });
});

describe('the URL of an endpoint', () => {
  it('has its parameters filled in', () => {
    expect(
      endpointUrl('PATCH /api/organizations/:organization/keys/:key', {
        params: { organization: 'org-1', key: 'key-2' },
      }),
    ).toEqual({ method: 'PATCH', url: '/api/organizations/org-1/keys/key-2' });
  });

  it('requires each parameter', () => {
    expect(() => endpointUrl('GET /api/organizations/:organization', {})).toThrow('needs organization');
    expect(() => endpointUrl('GET /api/organizations/:organization', { params: { organization: '' } })).toThrow();
  });

  it('leaves out absent values', () => {
    expect(endpointUrl('GET /api/organizations', { query: { search: undefined, after: '' } }).url).toBe(
      '/api/organizations',
    );
    expect(queryText({ a: [], b: ['x', ''], c: ['y,z'] })).toBe('?b=x&b=&c=y%2Cz');
    expect(queryText({ a: 0, b: false, c: undefined, d: 'x y&z' })).toBe('?a=0&b=false&d=x+y%26z');
  });

  it('survives a round trip with any value, and leads nowhere else', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.string({ minLength: 1, unit: 'grapheme' }),
        (id, search) => {
          const { url } = endpointUrl('GET /api/organizations/:organization/keys', {
            params: { organization: id },
            query: { search },
          });
          const parsed = new URL(url, 'https://gateway.example');
          const parts = parsed.pathname.split('/');
          // `.` and `..` are steps in a path, however they are written; no id is one.
          fc.pre(!/^\.{1,2}$/.test(id));
          expect(parts).toHaveLength(5);
          expect(decodeURIComponent(parts[3] ?? '')).toBe(id);
          expect(parsed.searchParams.get('search')).toBe(search);
        },
      ),
    );
  });
});
