import { expect, test } from 'vitest';
import { readChatRequest } from '../../chat/read-chat-request.ts';
import { finish } from '../../fairness/steps.ts';
import { MESSAGES_DOOR } from '../messages/messages-door.ts';
import { DoorTranslator } from './door-translator.ts';
import { readRequest } from './read-request.ts';
import { translateRequest } from './translate-request.ts';

/** A body of Messages with this number so many times, and a citation that its chat form lacks. */
function bodyWith(number: string, times: number): string {
  const numbers = Array.from({ length: times }, () => number).join(',');
  const cited = `{"type":"char_location","cited_text":"${'w'.repeat(5_000)}"}`;
  const result = `{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x","citations":[${cited}]}]}`;
  const tool = `{"name":"f","input_schema":{"type":"object","enum":[${numbers}]}}`;
  return `{"model":"m","max_tokens":1,"tools":[${tool}],"messages":[{"role":"user","content":[${result}]}]}`;
}

function translated(body: string) {
  const job = { bytes: Buffer.from(body), api: 'messages', model: { reasoningEfforts: [] }, extraFields: [] } as const;
  const result = translateRequest(job);
  return result?.kind === 'translated' ? result : undefined;
}

test.each(['1e15', '-1E+15', '1.5e15', '1000000000000000'])(
  'a number such as %s, which JSON.stringify makes longer, does not hide uncounted text',
  (number) => {
    const without = translated(bodyWith(number, 0));
    expect(without).toMatchObject({ mayPass: false });
    expect(without?.unreadBytes).toBeGreaterThan(4_500);
    expect(translated(bodyWith(number, 2_000))).toMatchObject({ mayPass: false, unreadBytes: without?.unreadBytes });
  },
);

test('stop sequences that chat cannot have are not counted, and do not prevent passing on', () => {
  const stops = Array.from({ length: 60 }, (_, index) => `stop ${index}`);
  const read = (stop_sequences: readonly string[]) =>
    translated(
      JSON.stringify({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }], stop_sequences }),
    );
  expect(read(stops)).toMatchObject({ mayPass: true, unreadBytes: read(stops.slice(0, 4))?.unreadBytes });
});

test('the hold covers each byte that is passed on and not in the chat form', async () => {
  const cited = { type: 'char_location', cited_text: 'w'.repeat(90) };
  const content = [{ type: 'text', text: 'x', citations: [cited] }];
  const block = { type: 'search_result', source: 's', title: 't', content };
  const messages = [{ role: 'user', content: [block] }];
  const body = JSON.stringify({ model: 'm', max_tokens: 1, messages });
  const { bytes = new Uint8Array(), unreadBytes = 0, mayPass } = translated(body) ?? {};
  expect([mayPass, unreadBytes > 90]).toEqual([true, true]);
  const sent = {
    ...{ body: Buffer.from(body), contentEncoding: undefined, organizationId: 'org', memory: { take: () => true } },
    ...{ header: () => undefined, isGone: () => false, reasoningEfforts: () => [] },
  };
  const translator = new DoorTranslator();
  const read = await readRequest(MESSAGES_DOOR, sent, translator, finish);
  translator.close();
  const form = finish(readChatRequest(Buffer.from(bytes), undefined));
  if (read?.kind !== 'read' || 'code' in form) throw new Error('the body is refused');
  const { estimate, ceiling, normalizedCeiling, besidesText } = form.inputTokens;
  expect(read.chat.inputTokens).toEqual({
    ...form.inputTokens,
    ...{ estimate, ceiling: ceiling + unreadBytes, normalizedCeiling: normalizedCeiling + unreadBytes },
    besidesText: { ...besidesText, ceiling: besidesText.ceiling + unreadBytes },
  });
});
