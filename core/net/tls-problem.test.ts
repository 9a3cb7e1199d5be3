import { createServer } from 'node:net';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { tlsProblem } from './tls-problem.ts';

test("TLS to a server without TLS is explained, from OpenSSL's own error", async () => {
  const server = createServer((socket) =>
    socket
      .resume()
      .on('error', () => undefined)
      .end('-ERR what is this?\r\n'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const socket = connect({ port, host: '127.0.0.1' });
  const error = await new Promise((resolve) => socket.on('error', resolve));
  socket.destroy();
  server.close();
  expect(tlsProblem(error)).toBe('the server speaks no TLS at this port');
});

test.each([
  ['self-signed certificate in certificate chain', /signed by nobody whom this machine trusts/],
  ["Hostname/IP does not match certificate's altnames: IP: 127.0.0.2 is not in the cert's list", /other names/],
  ['The server does not support SSL connections', /switched off/],
  ['C0:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/x.c:918:', /asks for/],
  ['C0:error:0A000999:SSL routines:x:something new:../deps/x.c:9:', /^TLS could not be agreed upon$/],
])('%s', (message, said) => {
  expect(tlsProblem(new Error(message))).toMatch(said);
});

test('no other error is a TLS problem', () => {
  expect(tlsProblem(new Error('connect ECONNREFUSED 127.0.0.1:6379'))).toBeUndefined();
  expect(tlsProblem('wrong version number')).toBeUndefined();
});
