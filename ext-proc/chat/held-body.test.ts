import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { acceptedChat, sentBody } from '#test/fixtures/chat-request.ts';
import { estimateTokens } from './tokens/text-meter.ts';

function requestOf(messages: unknown[], isAscii = false) {
  const json = JSON.stringify({ model: 'm', messages });
  return acceptedChat(isAscii ? asciiJson(json) : json);
}

describe('keepText', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 30 });

  test('keeps the beginning of the text, in whole characters, up to the bound', () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 200 }),
        fc.boolean(),
        (texts, most, isAscii) => {
          const chat = requestOf(
            texts.map((content) => ({ role: 'user', content })),
            isAscii,
          );
          const [whole = ''] = chat.promptText();
          const bytes = chat.keepText(most);
          const [kept = ''] = chat.promptText();
          expect(whole.startsWith(kept)).toBe(true);
          expect(bytes).toBe(Buffer.byteLength(kept));
          // Line ends between messages are ours.
          expect(bytes).toBeLessThanOrEqual(most + texts.length - 1);
          if (kept === whole) expect(chat.tokensOmitted()).toBe(0);
        },
      ),
    );
  });

  test('estimates the rest, once', () => {
    const chat = requestOf([{ role: 'user', content: 'some words '.repeat(100_000) }]);
    const all = estimateTokens(chat.promptText().join());
    expect(chat.keepText(200_000)).toBe(200_000);
    const left = chat.tokensOmitted();
    const told = () => estimateTokens(chat.promptText().join()) + chat.tokensOmitted();
    expect(told() / all).toBeCloseTo(1, 1);
    expect(chat.keepText(100)).toBe(200_000);
    expect(chat.tokensOmitted()).toBe(left);
    for (let again = 0; again < 2; again++) {
      expect(chat.keepText(0)).toBe(0);
      expect([chat.promptText(), told() / all]).toEqual([[''], expect.closeTo(1, 1)]);
    }
  });

  test('leaves the estimate of the request if no text is kept, images included', () => {
    const url = `data:image/png;base64,${'A'.repeat(4000)}`;
    const chat = requestOf([{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]);
    expect(chat.tokensOmitted()).toBe(0);
    chat.keepText(0);
    expect(chat.tokensOmitted()).toBe(chat.inputTokens.estimate);
  });

  test('leaves nothing that can be sent', () => {
    const chat = requestOf([{ role: 'user', content: 'hi' }]);
    chat.keepText(1000);
    expect(() => sentBody(chat)).toThrow('free already');
  });
});
