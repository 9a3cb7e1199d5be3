import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode, type ErrorType } from '#core/errors/error-codes.ts';
import { ALERTS, EXPRESSIONS } from './fixtures/observability-files.ts';

/**
 * A request counts as failed if the gateway or a provider is the cause, and as refused if the
 * client is.
 */
const CLASSES: Readonly<Record<ErrorType, 'failed' | 'refused'>> = {
  invalid_request_error: 'refused',
  authentication_error: 'refused',
  insufficient_credits: 'refused',
  permission_error: 'refused',
  not_found_error: 'refused',
  rate_limit_error: 'refused',
  timeout_error: 'failed',
  api_error: 'failed',
  service_unavailable_error: 'failed',
};

const codes = Object.keys(ERROR_CODES) as ErrorCode[];
const failed = codes.filter((code) => CLASSES[ERROR_CODES[code].type] === 'failed').toSorted();

describe('the error codes of rules and panels', () => {
  it('are exactly those that count as failed, wherever several are listed', () => {
    const lists = EXPRESSIONS.flatMap(({ at, expr }) =>
      [...expr.matchAll(/gateway_requests_total\{[^}]*?code=~"([a-z_|]+)"/g)].map(([, list = '']) => ({ at, list })),
    );
    expect(lists.length).toBeGreaterThanOrEqual(6);
    for (const { at, list } of lists) expect(list.split('|').toSorted(), at).toEqual(failed);
  });

  it('exist wherever a single one is named', () => {
    const named = EXPRESSIONS.flatMap(({ expr }) =>
      [...expr.matchAll(/gateway_requests_total\{[^}]*?code="([a-z_]+)"/g)].map(([, code = '']) => code),
    );
    expect(named.length).toBeGreaterThan(1);
    for (const code of named) expect(codes).toContain(code);
  });

  it('that count as failed are each in the recipe of the alert about failed completions', () => {
    const { look = '' } = ALERTS.find(({ alert }) => alert === 'CompletionsFailing')?.annotations ?? {};
    const named = [...look.matchAll(/[a-z_]+/g)].map(([name]) => name);
    expect(named.filter((name) => name in ERROR_CODES).toSorted()).toEqual(failed);
  });
});
