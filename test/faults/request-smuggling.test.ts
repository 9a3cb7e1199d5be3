import { beforeAll, describe, expect, test } from 'vitest';
import { gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { END_HEADERS, END_STREAM, type Field, FRAME, frame, headerBlock, openRawHttp2 } from '../harness/raw-http2.ts';
import { exchangeRaw } from '../harness/transport-fixture.ts';
import { withGateway } from '../harness/with-gateway.ts';

/**
 * Requests whose end two parsers could see at different positions. Each is followed on its
 * connection by another customer's request.
 */
let key: string;
let followerKey: string;
/** Number of completions that had to be served. */
let served = 0;

const gateway = withGateway({
  config: { models: { plain: {} } },
});

beforeAll(async () => {
  ({ key } = await gateway.stack.operator.customer({ credit: '5' }));
  ({ key: followerKey } = await gateway.stack.operator.customer({ credit: '7' }));
});

const BODY = '{"model":"plain","messages":[{"role":"user","content":"Hello"}]}';
const SIZE = BODY.length;
const HEX = SIZE.toString(16);
const CHUNKED = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;
const READ = 'GET /v1/credits HTTP/1.1\r\nhost: gateway\r\n';
/** The request whose response an attacker wants the next client to receive. */
const HIDDEN = 'GET /v1/hidden HTTP/1.1\r\nhost: gateway\r\n\r\n';

const post = (headers: string, body: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n${headers}\r\n\r\n${body}`;
const te = (value: string, body = CHUNKED): string => post(`transfer-encoding:${value}`, body);
const cl = (value: string, body = BODY): string => post(`content-length:${value}`, body);
const chunks = (body: string): string => te(' chunked', body);

/** Status and code of each response until the connection was closed. */
function answersIn(text: string): string[] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((answer) => answer !== '')
    .map((answer) => {
      const status = answer.slice(9, 12);
      const what =
        /"code":"(\w+)"/.exec(answer)?.[1] ??
        /"balance":([\d.]+)/.exec(answer)?.[1] ??
        /"object":"([\w.]+)"/.exec(answer)?.[1];
      return `${status} ${what}`;
    });
}

async function withFollower(bytes: string): Promise<string[]> {
  const follower = `${READ}authorization: Bearer ${followerKey}\r\nconnection: close\r\n\r\n`;
  return answersIn(await exchangeRaw(gateway.stack.apiPort, Buffer.from(`${bytes}${follower}`, 'latin1'), /$^/));
}

const SERVED = ['200 chat.completion', '200 7'];
const REFUSED = ['400 invalid_request'];
const NOT_FOUND = ['404 route_not_found', '200 7'];

// Concurrent, because Envoy waits a second before it closes a connection after a refusal.
describe.concurrent('HTTP/1.1: the next request gets its own response, or the connection is closed', () => {
  test.each<[string, () => string, readonly string[]]>([
    ['content-length', () => cl(` ${SIZE}`), SERVED],
    ['chunked', () => te(' chunked'), SERVED],
    ['both', () => post(`content-length: ${SIZE}\r\ntransfer-encoding: chunked`, CHUNKED), REFUSED],
    [
      'both, the other way round',
      () => post('transfer-encoding: chunked\r\ncontent-length: 0', CHUNKED + HIDDEN),
      REFUSED,
    ],
    ['chunked, folded', () => te('\r\n chunked'), SERVED],
    ['chunked in upper case', () => te(' CHUNKED'), SERVED],
    ['chunked and identity', () => te(' chunked, identity'), REFUSED],
    ['identity and chunked', () => te(' identity, chunked'), REFUSED],
    ['identity', () => te(' identity', BODY), REFUSED],
    [
      'two codings that are chunked',
      () => post('transfer-encoding: chunked\r\ntransfer-encoding: chunked', CHUNKED),
      REFUSED,
    ],
    ['two codings', () => post('transfer-encoding: chunked\r\ntransfer-encoding: x', CHUNKED), REFUSED],
    ['a space before the colon', () => post('transfer-encoding : chunked', CHUNKED), REFUSED],
    ['xchunked', () => te(' xchunked'), REFUSED],
    ['a vertical tab', () => te(' \vchunked'), REFUSED],
    ['quotes', () => te(' "chunked"'), REFUSED],
    ['a parameter', () => te(' chunked;q=1'), REFUSED],
    ['a length with a plus', () => cl(` +${SIZE}`), REFUSED],
    ['a negative length', () => cl(` -${SIZE}`), REFUSED],
    ['a length twice in one header', () => cl(` ${SIZE}, ${SIZE}`), REFUSED],
    ['a length twice', () => post(`content-length: ${SIZE}\r\ncontent-length: ${SIZE}`, BODY), REFUSED],
    ['two lengths', () => post(`content-length: ${SIZE}\r\ncontent-length: 0`, BODY), REFUSED],
    ['a length in hex', () => cl(` 0x${HEX}`), REFUSED],
    ['a length with a gap', () => cl(' 6 0'), REFUSED],
    ['no length', () => cl(' '), REFUSED],
    ['a length of 23 digits', () => cl(' 99999999999999999999999'), REFUSED],
    ['a length with leading zeros', () => cl(` 000${SIZE}`), SERVED],
    ['lines that end with LF alone', () => cl(` ${SIZE}`).replaceAll('\r\n', '\n'), SERVED],
    [
      'CR alone in a header, with another framing behind it',
      () => post(`x-a: 1\rtransfer-encoding: chunked\r\ncontent-length: ${SIZE}`, BODY),
      SERVED,
    ],
    ['NUL in a header', () => post(`x-a: a\0b\r\ncontent-length: ${SIZE}`, BODY), REFUSED],
    ['NUL in a name', () => post(`x-\0a: 1\r\ncontent-length: ${SIZE}`, BODY), REFUSED],
    ['a header without a name', () => post(`: 1\r\ncontent-length: ${SIZE}`, BODY), REFUSED],
    ['a folded first header', () => `GET /v1/credits HTTP/1.1\r\n host: a\r\n\r\n`, REFUSED],
    ['a chunk with an extension', () => chunks(`${HEX};a=b\r\n${BODY}\r\n0\r\n\r\n`), SERVED],
    ['a chunk with LF in its extension', () => chunks(`${HEX};a\nb\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
    ['a chunk whose size ends with LF alone', () => chunks(`${HEX}\n${BODY}\r\n0\r\n\r\n`), REFUSED],
    ['a chunk of 2^72 bytes', () => chunks(`ffffffffffffffffff\r\n${BODY}`), REFUSED],
    ['a chunk of 2^64 bytes', () => chunks(`10000000000000000\r\n${BODY}`), REFUSED],
    ['a chunk of -1 bytes', () => chunks(`-1\r\n${BODY}`), REFUSED],
    ['a chunk after a space', () => chunks(` ${HEX}\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
    ['a chunk of 0x', () => chunks(`0x${HEX}\r\n${BODY}\r\n0\r\n\r\n`), REFUSED],
    [
      'trailers with a framing and our names',
      () => chunks(`${HEX}\r\n${BODY}\r\n0\r\ncontent-length: 5\r\nx-gw-stream: x\r\n\r\n`),
      SERVED,
    ],
    [
      'a read with a request for a body',
      () => `${READ}authorization: Bearer ${key}\r\ncontent-length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
      ['200 BALANCE', '200 7'],
    ],
    [
      'no key, and a request for a body',
      () => `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
      ['401 invalid_api_key', '200 7'],
    ],
    [
      'an expectation',
      () => post(`expect: 100-continue\r\ncontent-length: ${SIZE}`, BODY),
      ['100 undefined', ...SERVED],
    ],
    ['an unknown expectation', () => post(`expect: 200-ok\r\ncontent-length: ${SIZE}`, BODY), SERVED],
    [
      'an upgrade to h2c',
      () =>
        post(
          `connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\ncontent-length: ${SIZE}`,
          BODY,
        ),
      SERVED,
    ],
    [
      'the key named as a header of the connection',
      () => post(`connection: authorization\r\ncontent-length: ${SIZE}`, BODY),
      ['401 invalid_api_key', '200 7'],
    ],
    [
      'two keys',
      () => post(`authorization: Bearer ${followerKey}\r\ncontent-length: ${SIZE}`, BODY),
      ['401 invalid_api_key', '200 7'],
    ],
    ['two hosts in one', () => `GET /v1/credits HTTP/1.1\r\nhost: a, b\r\n\r\n`, REFUSED],
    ['a host with a path', () => `GET /v1/credits HTTP/1.1\r\nhost: a/../b\r\n\r\n`, REFUSED],
    ['a method in lower case', () => `${READ.replace('GET', 'get')}\r\n`, REFUSED],
    ['HTTP/1.2', () => `${READ.replace('1.1', '1.2')}\r\n`, REFUSED],
    ['HTTP/2.0 in a line', () => `${READ.replace('1.1', '2.0')}\r\n`, REFUSED],
    ...[
      '/v1/x/../credits',
      '//v1/credits',
      '/v1//credits',
      '/v1/%2e%2e/v1/credits',
      '/v1/%63redits',
      '/v1%2fcredits',
      '/v1\\credits',
      '/v1/credits;a',
      '/v1/credits%00',
    ].map((path): [string, () => string, readonly string[]] => [
      `the path ${path}`,
      () => `GET ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n\r\n`,
      NOT_FOUND,
    ]),
  ])('%s', async (_, bytes, expected) => {
    const answers = await withFollower(bytes());
    // The sender's balance depends on the requests before.
    expect(answers.map((answer) => (/^200 [0-4]\.\d+$/.test(answer) ? '200 BALANCE' : answer))).toEqual(expected);
    if (expected.includes('200 chat.completion')) served += 1;
  });
});

describe('HTTP/2: a response or a reset, and another stream gets its own response', () => {
  const head = (change: Readonly<Record<string, string | undefined>>): Field[] =>
    Object.entries({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': '/v1/chat/completions',
      ':authority': 'gateway',
      authorization: `Bearer ${key}`,
      ...change,
    }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));

  test.each<[string, () => Field[], string]>([
    ['a valid request', () => head({}), 'chat.completion'],
    ['the same host again', () => head({ host: 'gateway' }), 'chat.completion'],
    ['another host', () => head({ host: 'other' }), 'refused'],
    ['another scheme', () => head({ ':scheme': 'ftp' }), 'chat.completion'],
    ['bytes above ASCII in the query', () => head({ ':path': '/v1/chat/completions?\xe9' }), 'chat.completion'],
    ['an unknown expectation', () => head({ expect: '200-ok' }), 'chat.completion'],
    ['a correct length', () => head({ 'content-length': String(SIZE) }), 'chat.completion'],
    ['a length too small', () => head({ 'content-length': '5' }), 'refused'],
    ['a length too large', () => head({ 'content-length': '5000' }), 'refused'],
    ['a transfer coding', () => head({ 'transfer-encoding': 'chunked' }), 'refused'],
    ['a header of the connection', () => head({ connection: 'x-gw-stream' }), 'refused'],
    ['two paths', () => [...head({}), [':path', '/v1/models']], 'refused'],
    [
      'a pseudo-header behind a header',
      () => [...head({ ':path': undefined }), [':path', '/v1/chat/completions']],
      'refused',
    ],
    ['an unknown pseudo-header', () => head({ ':route': 'egress' }), 'refused'],
    ['a status', () => head({ ':status': '200' }), 'refused'],
    ['no path', () => head({ ':path': undefined }), 'refused'],
    ['an empty path', () => head({ ':path': '' }), 'refused'],
    ['a path with a space', () => head({ ':path': '/v1/chat/completions?a HTTP/1.1' }), 'refused'],
    ['a path with a line', () => head({ ':path': '/v1/chat/completions?a\r\nx-gw-stream: b' }), 'refused'],
    ['a path that is a URL', () => head({ ':path': 'http://gateway/v1/chat/completions' }), 'refused'],
    ['a method with a space', () => head({ ':method': 'POST /v1/hidden' }), 'refused'],
    ['a host with a line', () => head({ ':authority': 'a\r\nb' }), 'refused'],
    ['a name in capitals', () => head({ 'X-A': '1' }), 'refused'],
    ['a name with a colon', () => head({ 'x-a: b': '1' }), 'refused'],
    ['a line in a value', () => head({ 'x-a': '1\r\nx-gw-stream: b' }), 'refused'],
    ['NUL in a value', () => head({ 'x-a': '1\0' }), 'refused'],
    ['CONNECT', () => head({ ':method': 'CONNECT', ':path': undefined, ':scheme': undefined }), 'refused'],
    ['a tunnel', () => head({ ':method': 'CONNECT', ':protocol': 'websocket' }), 'refused'],
  ])('%s', async (_, fields, expected) => {
    const before = gateway.provider.requests().length;
    const connection = await openRawHttp2(gateway.stack.apiPort);
    const beside: Field[] = [
      ...head({ ':method': 'GET', ':path': '/v1/credits', authorization: `Bearer ${followerKey}` }),
    ];
    connection.send(
      frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields())),
      frame(FRAME.data, END_STREAM, 1, Buffer.from(BODY)),
      frame(FRAME.headers, END_HEADERS | END_STREAM, 3, headerBlock(beside)),
    );
    const [answer, other] = await Promise.all([connection.ended(1), connection.ended(3)]);
    connection.socket.destroy();
    const isServed = answer?.body.includes('"object":"chat.completion"') === true;
    expect(isServed ? 'chat.completion' : 'refused').toBe(expected);
    if (answer !== undefined && answer.body.length > 0 && !isServed) {
      expect(answer.body.toString()).toMatch(/^\{"error":\{.*"code":"(invalid_request|route_not_found)"/);
    }
    // If the whole connection is in violation, nothing on it is served.
    if (other?.end === 'clean') expect(other.body.toString()).toContain('"balance":7,');
    else expect(isServed).toBe(false);
    expect(gateway.provider.requests().length - before).toBe(isServed ? 1 : 0);
    if (isServed) served += 1;
  });
});

test('afterwards the provider has received exactly the served requests, and each was charged once', async () => {
  expect(served).toBeGreaterThan(10);
  expect(gateway.provider.requests().map(({ json }) => json?.messages)).toEqual(
    Array.from({ length: served }, () => [{ role: 'user', content: 'Hello' }]),
  );
  await untilNothingHeld(gatewayClient(gateway.stack.origin, key));
  await gateway.stack.operator.verifyLedger();
  expect(gateway.stack.logs()).not.toContain('a request failed on our side');
});
