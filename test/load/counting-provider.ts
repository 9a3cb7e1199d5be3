import { setTimeout as sleep } from 'node:timers/promises';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { reset, stall } from '../provider/acts.ts';
import type { Act, Call } from '../provider/call.ts';
import { completionBody, DONE, streamEvents } from '../provider/chat-format.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';

/**
 * A provider that counts the tokens it read and wrote, as the invoice of a real one does. The
 * prompt describes the response: `plan 17 words 40`. Every word of output is one token (` lake` in
 * o200k_base), so clients count tokens by splitting.
 */
export interface CountingProvider extends Pick<FakeProvider, 'baseUrl' | 'close'> {
  /** The counts by day and model, in the format of `costs reconcile`. */
  csv(): string;
  /** Tokens written for a plan in all its requests. */
  produced(plan: number): number;
}

export const WORD = ' lake';
const JSON_MS = 80;
const PACE_MS = 20;
const SLOW_PACE_MS = 100;
const LATE_MS = 3_000;

interface Sums {
  input: number;
  output: number;
}

interface Request {
  readonly words: number;
  readonly inputTokens: number;
  readonly count: (outputTokens: number) => void;
}

export async function startCountingProvider(host?: string): Promise<CountingProvider> {
  const provider = await startFakeProvider({ record: false, ...(host === undefined ? {} : { host }) });
  const invoice = new Map<string, Sums>();
  const outputByPlan = new Map<number, number>();

  function read(call: Call): Request {
    const { messages } = call.seen.json as { messages: readonly { content: string }[] };
    const prompt = messages.map(({ content }) => content).join('\n');
    const [, plan = '', words = ''] = /plan (\d+) words (\d+)/.exec(prompt) ?? [];
    const line = `${new Date().toISOString().slice(0, 10)},${call.seen.model}`;
    const sums = invoice.get(line) ?? { input: 0, output: 0 };
    invoice.set(line, sums);
    const inputTokens = countTokens(prompt);
    sums.input += inputTokens;
    return {
      words: Number(words),
      inputTokens,
      count(outputTokens) {
        sums.output += outputTokens;
        outputByPlan.set(Number(plan), (outputByPlan.get(Number(plan)) ?? 0) + outputTokens);
      },
    };
  }

  const json: Act = async (call) => {
    const { words, inputTokens, count } = read(call);
    await sleep(JSON_MS, undefined, { signal: call.gone }).catch(() => {});
    if (call.gone.aborted) return;
    count(words);
    const usage = { prompt_tokens: inputTokens, completion_tokens: words };
    const body = completionBody({ model: call.seen.model, text: WORD.repeat(words), usage });
    call.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) });
    call.end(body);
  };

  /** Streams a share of the words, one event each, and then plays `end`. */
  function stream(paceMs: number, share: number, end: Act): Act {
    return async (call) => {
      const { words, inputTokens, count } = read(call);
      const pieces = Array.from({ length: words }, () => WORD);
      const usage = { prompt_tokens: inputTokens, completion_tokens: words };
      const events = streamEvents({ model: call.seen.model, pieces, usage });
      const isWhole = share === 1;
      call.writeHead(200, { 'content-type': 'text/event-stream' });
      const last = isWhole ? events.length : 1 + Math.floor(words * share);
      for (const [index, event] of events.slice(0, last).entries()) {
        if (index > 0) await sleep(paceMs, undefined, { signal: call.gone }).catch(() => {});
        if (call.gone.aborted) return;
        if (index > 0 && index <= words) count(1);
        await call.write(event);
      }
      await end(call);
    };
  }
  const whole: Act = (call) => call.end(DONE);

  provider.script('json', json);
  provider.script('stream', stream(PACE_MS, 1, whole));
  provider.script('slow', stream(SLOW_PACE_MS, 1, whole));
  provider.script('cut', stream(PACE_MS, 0.5, reset));
  provider.script('late', async (call) => {
    read(call);
    await sleep(LATE_MS, undefined, { signal: call.gone }).catch(() => {});
    await stall(call);
  });
  return {
    baseUrl: provider.baseUrl,
    produced: (plan) => outputByPlan.get(plan) ?? 0,
    csv: () =>
      [
        'date,model,input_tokens,cached_tokens,output_tokens,cost',
        ...[...invoice].map(([line, { input, output }]) => `${line},${input},0,${output},0`),
        '',
      ].join('\n'),
    close: provider.close,
  };
}

export const COUNTED_MODELS = ['json', 'stream', 'slow', 'cut', 'late'] as const;
