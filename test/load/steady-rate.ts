import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayClient, outcome } from '../harness/gateway-client.ts';
import { jsonAnswer, slowly, streamAnswer } from '../provider/acts.ts';
import type { FakeProvider } from '../provider/fake-provider.ts';

/**
 * Sends requests at a fixed rate, whatever their outcome. Of three requests two return JSON, and
 * one a stream of a quarter of a second.
 */
export interface SteadyRate {
  /** Number of each outcome: `200`, a refusal, `cut` within the response, or a connection error. */
  readonly seen: Map<string, number>;
  /** Stops sending, and waits for requests in flight. */
  stop(): Promise<void>;
}

export const RATE_MODELS = { json: {}, stream: {} };
const STREAM = { pieces: Array.from({ length: 10 }, (_, index) => ` word${index}`), paceMs: 25 };
const TICK_MS = 5;

export function scriptRateModels(provider: FakeProvider): void {
  provider.script('json', slowly(30, jsonAnswer()));
  provider.script('stream', streamAnswer(STREAM));
}

export function startSteadyRate(client: GatewayClient, perSecond: number): SteadyRate {
  const seen = new Map<string, number>();
  const underWay = new Set<Promise<void>>();
  let going = true;
  let sent = 0;
  const note = (ending: string) => void seen.set(ending, (seen.get(ending) ?? 0) + 1);

  async function one(): Promise<void> {
    const stream = sent % 3 === 0;
    let begun = false;
    const onHead = () => {
      begun = true;
    };
    try {
      const received = await client.chat({ model: stream ? 'stream' : 'json', stream }, { onHead });
      const whole = !stream || received.status !== 200 || received.text.endsWith('data: [DONE]\n\n');
      note(whole ? outcome(received) : 'cut');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      note(begun ? 'cut' : (code ?? message));
    }
  }

  async function send(): Promise<void> {
    const beganMs = performance.now();
    while (going) {
      for (; sent < ((performance.now() - beganMs) / 1000) * perSecond; sent++) {
        const asking = one();
        underWay.add(asking);
        void asking.finally(() => underWay.delete(asking));
      }
      await sleep(TICK_MS);
    }
  }
  const sending = send();
  return {
    seen,
    stop: async () => {
      going = false;
      await sending;
      await Promise.all(underWay);
    },
  };
}
