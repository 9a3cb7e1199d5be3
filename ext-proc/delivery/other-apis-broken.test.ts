import { expect, test } from 'vitest';
import { hasReasoning, textOf } from '../dialects/completion.ts';
import { breakingAfter, cutStreams } from './broken-streams.fixture.ts';
import { client, countWords, deliverTo, openDelivery } from './client.fixture.ts';
import { dataOf, type OtherApi, requestTo, SCENARIOS, streamOf } from './other-apis.fixture.ts';
import { DIALECTS } from './provider/dialects.ts';
import { readUsage } from './response/usage.ts';

const { egress, delivery } = await openDelivery();

const REPORTED: Readonly<Record<OtherApi, object>> = {
  responses: { promptTokens: 328, completionTokens: 52 },
  anthropic: { promptTokens: 2400, completionTokens: 52 },
};

const streams = cutStreams(SCENARIOS.map(({ api, name, events }) => ({ api, name, stream: streamOf(events) })));

/** Chunks of the events that came whole before this byte, their usage, and if they ended it. */
async function wholeEvents(api: OtherApi, bytes: Buffer) {
  const translator = DIALECTS[api]?.stream();
  const events = bytes.toString().split('\n\n').slice(0, -1);
  const data = events.flatMap((event) => {
    const [type = '', json = ''] = event.split('\ndata: ');
    return translator?.take(type.slice('event: '.length), json) ?? [];
  });
  const chunks = data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const texts = choices.map((choice, index) => textOf(choice, choices.slice(0, index).some(hasReasoning)));
  const [tokens = 0] = await countWords([texts.join('')]);
  const { usage } = translator?.reported ?? {};
  const said = readUsage(usage, { contextWindow: 10_000, completions: 1 });
  return { choices, tokens, said, isDone: data.includes('[DONE]') };
}

test.each(streams)(
  'of $api, $name, broken at any byte: only complete events decide output, charge and end',
  { timeout: 120_000 },
  async ({ api, cuts }) => {
    for (const cut of cuts) {
      egress.respondWith(breakingAfter(cut));
      const to = client();
      const { outcome, charges } = await deliverTo(delivery, to, requestTo(api, undefined, { stream: true }));
      const { choices, tokens, said, isDone } = await wholeEvents(api, cut);
      if (choices.length === 0) {
        expect([outcome.refusal?.code, charges, to.heads]).toEqual(['upstream_error', [], []]);
        continue;
      }
      const got = dataOf(to.text());
      expect(got.pop()).toBe('[DONE]');
      if (!isDone) expect(JSON.parse(got.pop() ?? '')).toMatchObject({ error: { code: 'upstream_error' } });
      expect(got.flatMap((one) => JSON.parse(one).choices)).toEqual(choices);
      const { promptTokens = 3, completionTokens = 0 } = said ?? {};
      const usage = { promptTokens, completionTokens: Math.max(completionTokens, tokens) };
      if (isDone) expect(charges).toMatchObject([{ usageCounted: false, usage: REPORTED[api] }]);
      else expect(charges).toMatchObject([{ finishReason: 'error', usage }]);
    }
  },
);
