import { describe, expect, it } from 'vitest';
import { readTraceContext, traceHeaders, untracedHeaders } from './trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('traceparent', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Other flags are nothing to us.
    [`00-${TRACE}-${SPAN}-03`, true],
    [`00-${TRACE}-${SPAN}-fe`, false],
    // A later version may say more.
    [`cc-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])('%s', (text, sampled) => {
    expect(readTraceContext(text, undefined)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  });

  it.each([
    ['', `00-${TRACE}-${SPAN}`],
    ['a version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['too much for its version', `00-${TRACE}-${SPAN}-01-more`],
    ['something after the flags', `cc-${TRACE}-${SPAN}-01more`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a space', ` 00-${TRACE}-${SPAN}-01`],
    ['a line', `00-${TRACE}-${SPAN}-01\n`],
  ])('is none with %s', (_what, text) => {
    expect(readTraceContext(text, 'a=1')).toBeUndefined();
  });

  it('is written in the form in which it was read', () => {
    const text = `00-${TRACE}-${SPAN}-01`;
    const context = readTraceContext(text, undefined);
    expect(context && traceHeaders(context)).toEqual(['traceparent', text]);
  });
});

describe('tracestate', () => {
  const stateOf = (text: string) => readTraceContext(`00-${TRACE}-${SPAN}-01`, text)?.state;

  it.each(['a=1', 'vendor@system=x y!', 'a=1, b=2', 'a/b-c_d*=~', Array(32).fill('a=1').join()])(
    '%s is passed on',
    (text) => expect(stateOf(text)).toBe(text),
  );

  it.each(['', 'a', 'A=1', '=1', 'a=', 'a=1,,', 'a=b=c', 'a=\u00e9', 'a=1\r\nb: 2', Array(33).fill('a=1').join()])(
    '%j is not',
    (text) => expect(stateOf(text)).toBeUndefined(),
  );

  it('is not passed on beyond 512 characters', () => {
    const member = `a=${'x'.repeat(250)}`;
    expect(stateOf(`${member},${member}`)).toHaveLength(505);
    expect(stateOf(`${member},${member},${member}`)).toBeUndefined();
  });
});

it('has a unique id if a request is not traced', () => {
  const [name, traceparent] = untracedHeaders();
  expect(name).toBe('traceparent');
  expect(readTraceContext(traceparent, undefined)).toMatchObject({ sampled: false });
  expect(untracedHeaders()).not.toEqual([name, traceparent]);
});
