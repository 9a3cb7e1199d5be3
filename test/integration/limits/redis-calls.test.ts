import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { SCRIPTS } from '#ext-proc/limits/redis/scripts.ts';
import { leastOf } from '../../fixtures/least-of.ts';
import { outcome, untilNothingHeld } from '../../harness/gateway-client.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../../harness/redis-server.ts';
import { requirement } from '../../harness/requirement.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, plainAnswer, streamAnswer } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

/** Scripts that run periodically and not for a request. */
const EVERY_FEW_SECONDS = ['touchShards', 'renew', 'mirrorList', 'nameStore'];
/** The time-out of a call to Redis (connection.ts). */
const REPLY_MS = 1_000;

requirement(missingRedis, () => {
  let redis: TestRedis;
  const gateway = withGateway(async () => {
    redis = await startTestRedis();
    return { config: { redis: redis.url, models: { plain: {} } } };
  });
  afterAll(() => redis?.stop());

  /** Names of the scripts and other commands that requests send to Redis. */
  async function callsDuring(work: () => Promise<unknown>): Promise<string[]> {
    const names = new Map(Object.entries(SCRIPTS).map(([name, { sha1 }]) => [sha1, name]));
    const calls: string[] = [];
    const monitor = await redis.admin.monitor();
    monitor.on('monitor', (_time: string, [command = '', script = '']: string[], source: string) => {
      // EVAL loads a script after a call by its hash, which was counted already.
      if (source === 'lua' || command.toUpperCase() === 'EVAL') return;
      const name = names.get(script) ?? command;
      if (!EVERY_FEW_SECONDS.includes(name)) calls.push(name);
    });
    await work();
    // The gateway does not wait for the calls at the end of a request.
    await expect.poll(() => calls.length).toBeGreaterThan(0);
    await sleep(300);
    monitor.disconnect();
    return calls;
  }

  test.each([
    ['JSON', {}],
    ['a stream', { stream: true }],
  ])('%s makes one call to Redis for its admission, and one for each change of its hold', async (_, body) => {
    const client = await gateway.openClient();
    gateway.provider.script('plain', plainAnswer);
    // The first request of an account needs another read, and the first call of a script loads it.
    expect(outcome(await client.chat({ model: 'plain', ...body }))).toBe('200');
    await untilNothingHeld(client);
    const gate = createGate();
    gateway.provider.script('plain', gate.before(plainAnswer));
    const asked = () => client.chat({ model: 'plain', ...body });
    let response: ReturnType<typeof asked> | undefined;
    const admission = await callsDuring(async () => {
      response = asked();
      await gate.waitFor(1);
    });
    const end = await callsDuring(async () => {
      gate.open();
      await response;
    });
    expect(admission).toEqual(['holds']);
    // The hold becomes owed and ends, or only ends.
    expect(['holds', 'holds,holds']).toContain(String(end));
  });

  test.each([
    ['JSON', {}, jsonAnswer()],
    ['a stream', { stream: true }, streamAnswer()],
  ])('the end of %s does not wait for Redis', async (_, body, answer) => {
    const client = await gateway.openClient();
    const endMs = async () => {
      const gate = createGate();
      gateway.provider.script('plain', gate.before(answer));
      const response = client.chat({ model: 'plain', ...body });
      await gate.waitFor(1);
      process.kill(redis.pid, 'SIGSTOP');
      const beganMs = performance.now();
      gate.open();
      try {
        expect(outcome(await response)).toBe('200');
        return performance.now() - beganMs;
      } finally {
        process.kill(redis.pid, 'SIGCONT');
        await untilNothingHeld(client);
      }
    };
    expect(await leastOf(0.8 * REPLY_MS, 5, endMs)).toBeLessThan(0.8 * REPLY_MS);
  });
});
