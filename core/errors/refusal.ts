import { ERROR_CODES, type ErrorCode, type ErrorEntry } from './error-codes.ts';

/** A value, not an exception: 0.3 us, not 6, in four awaits (measured). Exceptions are bugs. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly code: ErrorCode;
  /** Fills the `{name}` places of the message. */
  readonly values: Readonly<Record<string, string | number>>;
  readonly param?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Whole seconds, which override those of the code. Required if the code has `window`. */
  readonly retryAfterSeconds?: number;
  /** Further response headers, such as `x-ratelimit-*`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Longest part of a name of the client's that a message repeats. */
export const LONGEST_ECHO = 128;

/** The `{name}` places in a message. */
type Places<Message extends string> = Message extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Places<Rest>
  : never;

type PlacesOf<Code extends ErrorCode> = Places<(typeof ERROR_CODES)[Code]['message']>;

/** Values for exactly the places of a code's message; without one it does not compile. */
type ValuesOf<Code extends ErrorCode> = [PlacesOf<Code>] extends [never]
  ? Readonly<Record<string, never>>
  : Readonly<Record<PlacesOf<Code>, string | number>>;

type Extra = Partial<Pick<Refusal, 'param' | 'metadata' | 'retryAfterSeconds' | 'headers'>>;

/** Arguments of `refuse`. For a code with `window` the caller must pass the wait. */
type RefuseArguments<Code extends ErrorCode> = (typeof ERROR_CODES)[Code] extends { readonly retryAfter: 'window' }
  ? [values: ValuesOf<Code>, extra: Extra & { readonly retryAfterSeconds: number }]
  : [PlacesOf<Code>] extends [never]
    ? [values?: ValuesOf<Code>, extra?: Extra]
    : [values: ValuesOf<Code>, extra?: Extra];

export function refuse<Code extends ErrorCode>(code: Code, ...[values, extra]: RefuseArguments<Code>): Refusal {
  return { kind: 'refusal', code, values: values ?? {}, ...extra };
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal';
}

export interface Envelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param?: string;
    readonly metadata: Readonly<Record<string, unknown>>;
  };
}

export function envelopeOf(refusal: Refusal): Envelope {
  const entry: ErrorEntry = ERROR_CODES[refusal.code];
  const param = refusal.param ?? entry.param;
  return {
    error: {
      message: entry.message.replace(/\{(\w+)\}/g, (place, name: string) => String(refusal.values[name] ?? place)),
      type: entry.type,
      code: refusal.code,
      ...(param === undefined ? {} : { param }),
      metadata: refusal.metadata ?? {},
    },
  };
}

export function statusOf({ code }: Refusal): number {
  return ERROR_CODES[code].status;
}

export function renderRefusal(refusal: Refusal): { status: number; headers: Record<string, string>; body: Buffer } {
  const entry: ErrorEntry = ERROR_CODES[refusal.code];
  const retryAfter = refusal.retryAfterSeconds ?? (typeof entry.retryAfter === 'number' ? entry.retryAfter : undefined);
  return {
    status: entry.status,
    headers: {
      'content-type': 'application/json',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      ...(entry.mayRetry === false ? { 'x-should-retry': 'false' } : {}),
      ...refusal.headers,
    },
    body: Buffer.from(JSON.stringify(envelopeOf(refusal))),
  };
}
