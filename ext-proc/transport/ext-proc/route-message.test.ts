import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HeaderAppendAction, ProcessingResponse } from '#proto/generated/ext_proc.ts';
import { frame } from './grpc-frame.ts';
import { encodeRoute } from './route-message.ts';

const upTo = (lastCode: number) => {
  const unit = fc.integer({ min: 0x20, max: lastCode }).map((code) => String.fromCharCode(code));
  // Long ones, so that a length takes one, two and three bytes at each level.
  const long = fc.constantFrom('n'.repeat(127), 'n'.repeat(16_384));
  return fc.oneof(
    fc.string({ unit, minLength: 1, maxLength: 20 }),
    fc.string({ unit, minLength: 1, maxLength: 300 }),
    long,
  );
};
const name = upTo(0x7e);
const value = upTo(0xff);

// Empty ones apart, which it leaves out.
test('what is written is what the generated code writes', () => {
  const pairs = fc.array(fc.tuple(name, value), { maxLength: 6 });
  fc.assert(
    fc.property(pairs, fc.array(name, { maxLength: 40 }), (set, removeHeaders) => {
      const setHeaders = set.map(([key, sent]) => ({
        header: { key, rawValue: Buffer.from(sent, 'latin1') },
        appendAction: HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      }));
      const response = { headerMutation: { setHeaders, removeHeaders }, clearRouteCache: true };
      const generated = ProcessingResponse.encode({ requestHeaders: { response } }).finish();
      expect(encodeRoute(set.flat(), removeHeaders).equals(frame(generated))).toBe(true);
    }),
  );
});
