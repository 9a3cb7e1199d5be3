import { describe, expect, test } from 'vitest';
import { requirement } from '../harness/requirement.ts';
import { errorAnswer, streamAnswer } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';
import { type AttemptsFixture, heldModel } from './attempts.ts';
import { startCountingProxy } from './counting-proxy.ts';
import type { SdkResult } from './sdk-client.ts';
import { SDKS, type Sdk } from './sdks.ts';

const BEAT = ': heartbeat\n\n';

/** Callers must not see the comment lines of a silent stream, but must see the error after them. */
export function describeHeartbeats(fixture: () => Omit<AttemptsFixture, 'poor'>): void {
  describe.each(SDKS)('$name and heartbeats', (sdk) => {
    /** Requests a stream through a proxy, which passes on the text received so far. */
    async function stream({ open }: Sdk, onText: (text: string) => void): Promise<SdkResult> {
      const { stack, customer } = fixture();
      const proxy = await startCountingProxy(stack.origin);
      const client = open(`${proxy.origin}/v1`, customer.key);
      proxy.onText(onText);
      try {
        const messages = [{ role: 'user' as const, content: 'Hello' }];
        const result = await client.call({ model: heldModel(sdk), messages, stream: true });
        expect(proxy.take().map(({ status }) => status)).toEqual([200]);
        return result;
      } finally {
        await client.close();
        await proxy.close();
      }
    }

    requirement(sdk.missing, () => {
      test('are skipped, before the first event and between events', async () => {
        const [first, later] = [createGate(), createGate()];
        const onEvent = (index: number) => (index === 2 ? later.pass() : undefined);
        fixture().provider.script(heldModel(sdk), first.before(streamAnswer({ onEvent })));
        const result = await stream(sdk, (text) => {
          if (text.startsWith(BEAT + BEAT)) first.open();
          if (/data: .*: heartbeat\n\n$/s.test(text)) later.open();
        });
        expect(result).toMatchObject({ text: 'Hello from the provider.', finish_reason: 'stop' });
        expect(result).not.toHaveProperty('error');
      });

      test('are followed by an error that is reported', async () => {
        const gate = createGate();
        fixture().provider.script(heldModel(sdk), gate.before(errorAnswer(500, 'oops')));
        const result = await stream(sdk, (text) => text.startsWith(BEAT) && gate.open());
        // @ai-sdk/openai inspects the first event, and treats this as a response with an error
        // status.
        const isFirstLookedAt = sdk.name === '@ai-sdk/openai';
        expect(result).toMatchObject({
          error: isFirstLookedAt ? sdk.errors[400] : sdk.errors.stream,
          ...(isFirstLookedAt ? {} : { code: 'upstream_error', type: 'api_error' }),
          message: 'The model provider failed.',
        });
      });
    });
  });
}
