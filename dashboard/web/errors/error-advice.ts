import { countOf } from '#core/count-of.ts';
import { ERROR_CODES, type ErrorCode, type ErrorEntry } from '#core/errors/error-codes.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request is invalid',
  401: 'The key is not accepted',
  402: 'The balance is too low',
  403: 'The key may not do this',
  404: 'Not found',
  408: 'No response in time',
  409: 'Still being processed',
  413: 'Too large',
  422: 'Not the same request',
  429: 'A limit is reached',
  500: 'Something failed on our side',
  503: 'Not available at the moment',
};

/** Codes whose advice differs from that of their status. */
const RETRY: Partial<Record<ErrorCode, string>> = {
  insufficient_credits: 'No. It fails again until there is more credit, or the request can cost less.',
  daily_budget_exceeded: 'Not before 00:00 UTC, unless the budget is raised.',
  generation_not_found: 'Yes, after a few seconds, if the request has just ended.',
  idempotency_key_in_flight: 'Yes, with the same key, when the first attempt has ended.',
  org_suspended: 'No. Only the operator can lift a suspension.',
  upstream_config_error: 'No. The operator has to repair the mapping.',
};

function retry(code: ErrorCode, { status, retryAfter }: ErrorEntry): string {
  const known = RETRY[code];
  if (known !== undefined) return known;
  if (retryAfter === 'window') return 'Yes, after the seconds in retry-after.';
  if (retryAfter !== undefined) return `Yes, after ${countOf(retryAfter, 'second')}.`;
  return status >= 500 || TITLES[status] === TITLES[408]
    ? 'Yes, with backoff.'
    : 'No. It fails again unless something changes.';
}

function billed({ billed: when }: ErrorEntry): string {
  return when === undefined ? 'Never.' : 'Only for what a stream had delivered before it broke.';
}

/** `undefined` for an unknown code, for example one of a later release. */
export function adviceFor(code: string) {
  const known = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : undefined;
  return known && adviceOf(known, ERROR_CODES[known]);
}

function adviceOf(code: ErrorCode, entry: ErrorEntry) {
  return { code, entry, retry: retry(code, entry), billed: billed(entry) };
}

export type ErrorAdvice = ReturnType<typeof adviceOf>;

/**
 * Makes a message template readable: `{model}` becomes a placeholder. `undefined`: each request has
 * its own message, which the log does not keep.
 */
export function readableMessage({ message }: ErrorEntry): string | undefined {
  if (message === '{problem}') return undefined;
  return message.replaceAll(/\{(\w+)\}/g, (_, name: string) => `‹${name.replaceAll('_', ' ')}›`);
}

export function findErrors(search: string) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const all = Object.entries<ErrorEntry>(ERROR_CODES).map(([code, entry]) => adviceOf(code as ErrorCode, entry));
  const found = all.filter(({ code, entry }) => {
    const text =
      `${code} ${entry.status} ${entry.type} ${entry.message} ${entry.advice} ${entry.param ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return [...Map.groupBy(found, ({ entry }) => entry.status)]
    .sort(([a], [b]) => a - b)
    .map(([status, errors]) => ({ status, title: TITLES[status] ?? '', errors }));
}
