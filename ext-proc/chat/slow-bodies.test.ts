import { expect, test } from 'vitest';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import { leastCpuMsOf } from '#test/fixtures/cpu-time.ts';
import { slowBodies } from '#test/fixtures/slow-bodies.ts';

/** As large as the bodies of test/integration/chat/validation-cpu.test.ts. */
const SHARE = 0.2;
/** Ten times what a quiet machine needs; what is not linear needs more. */
const MOST_CPU_MS = 300;

test.each(slowBodies(SHARE))('%s', (_, make) => {
  const bytes = Buffer.from(make());
  expect(leastCpuMsOf(() => readChatRequest(Buffer.from(bytes), undefined), MOST_CPU_MS)).toBeLessThan(MOST_CPU_MS);
});
