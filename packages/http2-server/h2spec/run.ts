import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { stripVTControlCharacters } from 'node:util';
import { startHttp2Server } from '../server.ts';

/**
 * `npm run h2spec [-- ARGUMENTS OF h2spec]`: runs the conformance test h2spec against a server on
 * loopback that answers every request. Fails if a case fails that is not among EXPECTED_FAILURES.
 * Needs Go 1.21 or newer, which downloads and builds the versions in go.mod.
 */

/** RFC 7540 made these errors. RFC 9113 deprecates priorities, and the server ignores them. */
const EXPECTED_FAILURES: readonly string[] = [
  'Sends HEADERS frame that depend on itself',
  'Sends PRIORITY frame that depend on itself',
];

const STATUS_200 = Buffer.of(0x88);
const BODY = Buffer.from('0123456789');
/** A literal field that no table keeps: `x-end: 1`. */
const TRAILERS = Buffer.from('\0\x05x-end\x011', 'latin1');

let port = 0;
const server = await startHttp2Server({
  async listen(tcpServer: Server) {
    tcpServer.listen(0, '127.0.0.1');
    await once(tcpServer, 'listening');
    port = (tcpServer.address() as AddressInfo).port;
  },
  accept: (stream) => ({
    data: () => undefined,
    ended() {
      stream.sendHeaders(STATUS_200);
      stream.sendData(BODY);
      stream.end(TRAILERS);
    },
    closed: () => undefined,
  }),
  // Most cases are errors of the client.
  onError: () => undefined,
});
const h2spec = ['run', 'github.com/summerwind/h2spec/cmd/h2spec', '--strict', '--port', String(port)];
const child = spawn('go', [...h2spec, ...process.argv.slice(2)], {
  cwd: import.meta.dirname,
  stdio: ['ignore', 'pipe', 'inherit'],
});
child.stdout.pipe(process.stdout);
let output = '';
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  output += text;
});
await once(child, 'close');
server.close();
const failures = stripVTControlCharacters(output.slice(output.indexOf('Failures:'))).matchAll(/× \d+: (.+)/g);
const unexpected = [...failures].map(([, title = '']) => title).filter((title) => !EXPECTED_FAILURES.includes(title));
const hasRun = /\d+ tests, \d+ passed/.test(output);
console.log(hasRun ? `${unexpected.length} unexpected failures` : 'h2spec did not run');
process.exitCode = hasRun && unexpected.length === 0 ? 0 : 1;
