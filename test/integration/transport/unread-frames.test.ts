import { expect, onTestFinished, test } from 'vitest';
import { configWith } from '../../fixtures/gateway-config.ts';
import { startEnvoy } from '../../harness/envoy-process.ts';
import { END_HEADERS, END_STREAM, FRAME, frame, headerBlock, openRawHttp2, setting } from '../../harness/raw-http2.ts';

/** Streams at a time, of at most 100 on a connection. */
const AT_ONCE = 90;
const FRAMES_OF_RESPONSE = 2;
/** More than `max_outbound_frames` in envoy.yaml, and far fewer than Envoy's default of 10,000. */
const FRAMES = 3_000;
const HEADER_TABLE_SIZE = 1;
const HEAD = headerBlock([
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/v1/models'],
  [':authority', 'a'],
]);

test('a client that does not read the frames of its responses loses its connection', async () => {
  const { listen } = configWith();
  // Above this bound Envoy itself responds at once.
  const perAddress = { ...listen.perAddress, requestsPerSecond: 1 };
  const envoy = await startEnvoy({ config: { listen: { ...listen, perAddress } } });
  onTestFinished(() => envoy.stop());
  const stat = async (name: string) => Number((await envoy.admin(`/stats?filter=^${name}$`)).split(': ')[1]);
  const ofClients = (name: string) => stat(`http.ingress.downstream_${name}`);

  // Without a header table the responses are longer, and fill the sockets' buffers sooner.
  const { socket, send } = await openRawHttp2(envoy.port, { settings: setting(HEADER_TABLE_SIZE, 0) });
  onTestFinished(() => void socket.destroy());
  const window = Buffer.alloc(4);
  window.writeUInt32BE(2 ** 31 - 65_536);
  send(frame(FRAME.windowUpdate, 0, 0, window));
  socket.pause();
  let asked = 0;
  const askMore = async () => {
    const streams = Array.from({ length: AT_ONCE }, (_, at) => 2 * (asked + at) + 1);
    send(...streams.map((id) => frame(FRAME.headers, END_HEADERS | END_STREAM, id, HEAD)));
    asked += AT_ONCE;
    const isAnswered = async () => (await ofClients('rq_completed')) === asked || (await ofClients('cx_active')) === 0;
    await expect.poll(isAnswered, { interval: 1 }).toBe(true);
  };
  while ((await ofClients('cx_tx_bytes_buffered')) === 0) await askMore();
  expect(await stat('http2.outbound_flood')).toBe(0);
  for (let frames = 0; frames < FRAMES && (await ofClients('cx_active')) === 1; frames += AT_ONCE * FRAMES_OF_RESPONSE)
    await askMore();
  expect([await stat('http2.outbound_flood'), await ofClients('cx_active')]).toEqual([1, 0]);
});
