import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { sendWebhook } from './webhook-request.ts';

/** A receiver that is hostile, or in the operator's own network. */
describe('a webhook', () => {
  let server: Server;
  let port = 0;
  const asked: string[] = [];
  let answer: (write: (text: string) => void, end: () => void) => void = (write, end) => {
    write('HTTP/1.1 204 No Content\r\n\r\n');
    end();
  };
  const raw = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      answer(
        (text) => socket.write(text),
        () => socket.end(),
      ),
    );
  });
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end();
    });
    await Promise.all([
      new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)),
      new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve)),
    ]);
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await Promise.all([new Promise((resolve) => server.close(resolve)), new Promise((resolve) => raw.close(resolve))]);
  });

  const send = (url: string, networks: readonly string[] = []) =>
    sendWebhook({ url, headers: {}, body: '{}' }, networks);
  const REFUSED = { kind: 'failed', text: 'this is not an address on the Internet' };

  test.each([
    'https://127.0.0.1',
    'https://localhost',
    'https://LOCALHOST.',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:7f00:1]',
    'https://2130706433',
    'https://0x7f.1',
    'https://0177.0.0.1',
    'https://0.0.0.0',
    'https://169.254.169.254',
    'https://10.0.0.1',
    'https://100.64.0.1',
    'https://[fd00:ec2::254]',
    'https://[fe80::1]',
    'https://[64:ff9b::7f00:1]',
  ])('does not reach %s', async (host) => {
    expect(await send(`${host}:${port}/secret`)).toEqual(REFUSED);
    expect(asked).toEqual([]);
  });

  test('ends if the response is an upgrade', async () => {
    const before = answer;
    answer = (write) => write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    const { port: rawPort } = raw.address() as AddressInfo;
    const sent = await send(`http://127.0.0.1:${rawPort}/`, ['127.0.0.0/8']);
    expect(sent).toEqual({ kind: 'failed', text: 'the request failed' });
    answer = before;
  });

  test('uses http only for allowed networks', async () => {
    expect((await send(`http://127.0.0.1:${port}/a`)).text).toBe('the URL must begin with https://');
    expect((await send(`http://user:password@127.0.0.1:${port}/a`, ['127.0.0.0/8'])).text).toBe(
      'the URL must not have credentials',
    );
    expect(await send('http://1.1.1.1/a', ['127.0.0.0/8'])).toEqual(REFUSED);
    expect(asked).toEqual([]);
    expect(await send(`http://localhost:${port}/a`, ['127.0.0.0/8', '::1'])).toEqual({
      kind: 'delivered',
      text: 'status 200',
    });
    expect(asked).toEqual(['/a']);
  });

  const sendRaw = async (...texts: string[]) => {
    answer = (write, end) => {
      for (const text of texts) write(text);
      if (texts.at(-1) === 'end') end();
    };
    return send(`http://127.0.0.1:${(raw.address() as AddressInfo).port}/`, ['127.0.0.0/8']);
  };

  test('reveals only the status of a response', async () => {
    expect(await sendRaw('secret of a service\r\n')).toEqual({ kind: 'failed', text: 'this is not an HTTP response' });
    expect(await sendRaw('HTTP/1.1 403 secret\r\nx: secret\r\ncontent-length: 6\r\n\r\nsecret')).toEqual({
      ...{ kind: 'failed', text: 'status 403' },
    });
  });

  test('reads a bounded part of an endless response', async () => {
    const endless = `HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n${'x'.repeat(200_000)}`;
    expect(await sendRaw(endless)).toEqual({ kind: 'delivered', text: 'status 200' });
  });

  test('ends if 1xx responses arrive without end', async () => {
    const former = answer;
    let isOpen = true;
    answer = (write) => {
      const flood = () => {
        for (let count = 0; count < 100; count++) write('HTTP/1.1 102 Processing\r\n\r\n');
        if (isOpen) setTimeout(flood, 10);
      };
      flood();
    };
    raw.once('connection', (socket) =>
      socket.once('close', () => {
        isOpen = false;
      }),
    );
    const { port: rawPort } = raw.address() as AddressInfo;
    const sent = await send(`http://127.0.0.1:${rawPort}/`, ['127.0.0.0/8']);
    // A response that is late is reported in other words.
    expect(sent).toEqual({ kind: 'failed', text: 'the request failed' });
    answer = former;
  }, 30_000);

  test('ends if nothing arrives in time', async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const hurried = vi.spyOn(AbortSignal, 'timeout').mockImplementationOnce((ms) => timeout(ms / 100));
    expect(await sendRaw('HTTP/1.1 200 OK\r\n')).toEqual({ kind: 'failed', text: 'no response in time' });
    expect(hurried).toHaveBeenCalledExactlyOnceWith(10_000);
    hurried.mockRestore();
  });
});
