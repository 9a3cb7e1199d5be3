import { once } from 'node:events';
import { Agent } from 'node:http';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_HEADER_BYTES } from '#ext-proc/transport/ext-proc/request-head.ts';
import { END_HEADERS, type Field, FRAME, frame, headerBlock, openRawHttp2 } from '../harness/raw-http2.ts';
import type { AttackJob, AttackName } from './neighbour-job.ts';
import { ask, askAndLeave, CHAT, chatBody, paddedImage } from './neighbour-requests.ts';
import { openSilentClients } from './silent-clients.ts';
import { openUnreadRequests } from './unread-requests.ts';
import { openWaitingUploads } from './waiting-uploads.ts';

/**
 * Sends as much as it can until the job's time is over, and records the outcomes. All attacks use
 * keys of one organization.
 */
type Attack = (job: AttackJob, note: (outcome: string) => void) => Promise<void>;

/**
 * 26 bodies of 20 MiB: one-pixel images with padding after their end. The provider keeps their
 * streams open.
 */
const largeBodies =
  (model: string): Attack =>
  async (job, note) => {
    const body = chatBody(model, paddedImage());
    const agent = new Agent({ keepAlive: true });
    await inParallel(26, job, async () => note(await ask(agent, job.origin, { path: CHAT, key: firstKey(job), body })));
    agent.destroy();
  };

/**
 * Eight bodies with 2.5 MiB of escaped member names on one connection. Their last bytes arrive
 * together.
 */
const escapedKeys: Attack = async (job, note) => {
  const members = '"\\u006b":0,'.repeat(240_000);
  const body = Buffer.from(`{"model":"nope","messages":[{"role":"user","content":"hi","x":{${members}"k":0}}]}`);
  const { origin } = job;
  while (isGoing(job)) {
    const session = connectHttp2(origin);
    session.on('error', () => note('connection lost'));
    const uploads = Array.from({ length: 8 }, () =>
      session.request({ ':method': 'POST', ':path': CHAT, authorization: `Bearer ${firstKey(job)}` }),
    );
    const outcomes = uploads.map((upload) => statusOf(upload));
    await Promise.all(uploads.map((upload) => new Promise((resolve) => upload.write(body.subarray(0, -1), resolve))));
    // Everything else must have been sent before, or the last bytes do not leave together.
    await sleep(100);
    for (const upload of uploads) upload.end(body.subarray(-1));
    for (const outcome of await Promise.all(outcomes)) note(outcome);
    session.destroy();
  }
};

/** 3,000 requests a second that are refused before their bodies are read completely. */
const refusedRequests: Attack = async (job, note) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const broken = { path: CHAT, key: firstKey(job), body: Buffer.from('{"model":') };
  const began = performance.now();
  const underWay = new Set<Promise<void>>();
  for (let sent = 0; isGoing(job); ) {
    for (; sent < (performance.now() - began) * 3 && underWay.size < 1000; sent++) {
      const one = ask(agent, job.origin, broken).then(note);
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
    }
    await sleep(2);
  }
  agent.destroy();
};

/**
 * A response of 50 MB is stored for its key. Clients request it repeatedly and disconnect after the
 * first bytes.
 */
const cutReplays: Attack = async (job, note) => {
  const idempotencyKey = 'one-answer';
  const keyed = { path: CHAT, key: firstKey(job), body: chatBody('big-json'), idempotencyKey };
  const agent = new Agent({ keepAlive: true });
  note(`first ${await ask(agent, job.origin, keyed)}`);
  agent.destroy();
  await inParallel(16, job, async () => note(await askAndLeave(job.origin, keyed)));
};

/** 40 responses of 50 MB that are never read. The requests are repeated every 10 s. */
const unreadAnswers: Attack = async (job, note) => {
  while (isGoing(job)) {
    const clients = await openSilentClients(job.origin, firstKey(job), chatBody('big-json').toString(), 40);
    await sleep(Math.min(10_000, Math.max(0, leftMs(job))));
    clients.close();
    note('40 opened');
  }
};

/**
 * A thousand keys at once. They query a month's usage, request completions and send invalid
 * requests in turn.
 */
const thousandKeys: Attack = async (job, note) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const asks = [
    { path: '/v1/usage?group_by=day,model,key' },
    { path: CHAT, body: chatBody('json') },
    { path: '/v1/credits' },
    { path: CHAT, body: Buffer.from('{}') },
  ];
  await Promise.all(
    job.keys.map(async (key, index) => {
      for (let turn = index; isGoing(job); turn++)
        note(await ask(agent, job.origin, { path: CHAT, ...asks[turn % asks.length], key }));
    }),
  );
  agent.destroy();
};

/** 2,000 idle connections, and others that open and close as fast as they can. */
const connections: Attack = async (job, note) => {
  const port = Number(new URL(job.origin).port);
  const idle: Socket[] = [];
  for (let count = 0; count < 2000; count++)
    idle.push(connect(port, '127.0.0.1').on('error', () => note('idle refused')));
  await inParallel(50, job, async () => {
    const socket = connect(port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', (error: NodeJS.ErrnoException) => note(error.code ?? error.message));
    socket.once('connect', () => socket.resetAndDestroy());
    await closed;
    note('came and went');
    // Above 2,500 a second this process would be the bottleneck.
    await sleep(20);
  });
  for (const socket of idle) socket.destroy();
};

/**
 * 100 HTTP/2 connections that send their bodies in one-byte frames, as fast as the gateway reads.
 */
const oneByteFrames: Attack = async (job, note) => {
  const oneByte = Buffer.concat(Array.from({ length: 8192 }, () => frame(FRAME.data, 0, 1, Buffer.from(' '))));
  const port = Number(new URL(job.origin).port);
  await inParallel(100, job, async () => {
    const connection = await openRawHttp2(port, { localAddress: '127.0.0.2' }).catch(() => undefined);
    if (connection === undefined) return note('not connected');
    connection.send(frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields(firstKey(job)))));
    while (isGoing(job) && !connection.socket.destroyed && connection.answer(1)?.end === undefined)
      if (!connection.socket.write(oneByte))
        await Promise.race([once(connection.socket, 'drain').catch(() => undefined), connection.closed]);
    note(connection.answer(1)?.end ?? 'closed');
    connection.socket.destroy();
  });
};

/**
 * Endless uploads that start within ten seconds: more than a process has slots, or fewer with large
 * heads.
 */
const waitingUploads =
  (uploads: number, headBytes: number): Attack =>
  async (job, note) => {
    const port = Number(new URL(job.origin).port);
    while (isGoing(job)) {
      const flood = await openWaitingUploads({
        port,
        key: firstKey(job),
        uploads,
        perSecond: uploads / 10,
        headBytes,
        note,
      });
      await sleep(Math.min(10_000, Math.max(0, leftMs(job))));
      flood.close();
    }
  };

/**
 * 100,000 requests without a key, with the largest permitted heads, whose responses are never read.
 * They are repeated every 11 s, after Envoy has reset them.
 */
const unreadRequests: Attack = async (job, note) => {
  const port = Number(new URL(job.origin).port);
  const headers = { valueBytes: 650, count: 24 };
  const requests = { connections: 1_000, streams: 100, headers, path: '/v1/models', localAddress: '127.0.0.3' };
  while (isGoing(job)) {
    const opened = await openUnreadRequests(port, requests);
    await sleep(Math.min(11_000, Math.max(0, leftMs(job))));
    opened.close();
    note('100,000 opened');
  }
};

const fields = (key: string): Field[] => [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', CHAT],
  [':authority', 'gateway'],
  ['authorization', `Bearer ${key}`],
];

function statusOf(stream: ClientHttp2Stream): Promise<string> {
  return new Promise((resolve) => {
    stream.on('response', (headers) => resolve(String(headers[':status'])));
    stream.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    stream.on('close', () => resolve('closed'));
    stream.resume();
  });
}

/** Repeats `again` in `count` parallel loops until the attack is over. */
async function inParallel(count: number, job: AttackJob, again: () => Promise<void>): Promise<void> {
  const one = async (): Promise<void> => {
    while (isGoing(job)) await again();
  };
  await Promise.all(Array.from({ length: count }, one));
}

const startedAtMs = performance.now();
const isGoing = (job: AttackJob): boolean => leftMs(job) > 0;
const leftMs = (job: AttackJob): number => job.forMs - (performance.now() - startedAtMs);

function firstKey({ keys: [key] }: AttackJob): string {
  if (key === undefined) throw new Error('the attacker has no key');
  return key;
}

export const ATTACKS: Readonly<Record<AttackName, Attack>> = {
  'held-bodies': largeBodies('held-stream'),
  'waiting-bodies': largeBodies('silent-stream'),
  'escaped-keys': escapedKeys,
  'refused-requests': refusedRequests,
  'cut-replays': cutReplays,
  'unread-answers': unreadAnswers,
  'thousand-keys': thousandKeys,
  connections,
  'one-byte-frames': oneByteFrames,
  'waiting-uploads': waitingUploads(21_000, 0),
  'large-heads': waitingUploads(8_000, MAX_HEADER_BYTES * 0.9),
  'unread-requests': unreadRequests,
};
