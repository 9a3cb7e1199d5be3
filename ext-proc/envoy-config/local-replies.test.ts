import { expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '#core/errors/error-codes.ts';
import { localReplyMappers } from './local-replies.ts';

interface Body {
  readonly content_type: string;
  readonly text_format_source: { readonly inline_string: string };
}

test('every mapper gives an error code with its status, type and text', () => {
  const codes = localReplyMappers().map((mapper) => {
    const body = mapper.body_format_override as Body;
    const text = body.text_format_source.inline_string.replace('"%REQ(X-REQUEST-ID)%"', '"id"');
    const { error, ...around } = JSON.parse(text.replaceAll('%%', '%'));
    const isAtMessages = JSON.stringify(mapper.filter).includes('/v1/messages');
    expect(around).toEqual(isAtMessages ? { type: 'error', request_id: 'id' } : {});
    const entry = ERROR_CODES[error.code as ErrorCode];
    expect(mapper.status_code).toBe(entry.status);
    expect(error.type).toBe(entry.type);
    // No place of the message was forgotten, and nothing is left that Envoy would read as an
    // operator of its own.
    expect(error.message).not.toMatch(/[{}]/);
    expect(text.replaceAll('%%', '')).not.toContain('%');
    expect(body.content_type).toBe('application/json');
    return error.code;
  });
  const each = [
    'request_timeout',
    'request_too_large',
    'rpm_exceeded',
    'invalid_request',
    'invalid_request',
    'invalid_request',
    'internal_error',
    'no_capacity',
    'internal_error',
  ];
  expect(codes).toEqual(each.flatMap((code) => [code, code]));
});

test('the last mapper matches everything, so that no reply of Envoy keeps its own text', () => {
  expect(localReplyMappers().at(-1)?.filter).toMatchObject({
    status_code_filter: { comparison: { op: 'GE', value: { default_value: 100 } } },
  });
});

test('no_capacity has a retry-after header', () => {
  const mapper = localReplyMappers().find(({ status_code: status }) => status === 503);
  expect(JSON.stringify(mapper?.headers_to_add)).toContain('{"key":"retry-after","value":"10"}');
});
