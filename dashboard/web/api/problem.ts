import type { ProblemCode, ProblemView } from '#contract/api.ts';

/** `unreachable`: no response; `timed_out`: none within the deadline. Both may be retried. */
export type ProblemKind = ProblemCode | 'unreachable' | 'timed_out';

/**
 * A failed request of the page. An Error, because TanStack Query expects query functions to throw.
 */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly problem: ProblemKind;
  readonly fields: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(view: Omit<ProblemView, 'problem'> & { readonly problem: ProblemKind }) {
    super(view.message);
    this.problem = view.problem;
    this.fields = view.fields ?? {};
    this.retryAfterSeconds = view.retryAfterSeconds;
  }

  /** True if the server was not reached. The request itself may be valid. */
  get isConnection(): boolean {
    return this.problem === 'unreachable' || this.problem === 'timed_out';
  }
}

const UNKNOWN: ProblemView = {
  problem: 'internal',
  message: 'The dashboard server sent a response that cannot be read.',
};

/** The problem in a response. A proxy in between may send something other than our JSON. */
export function problemFrom(status: number, body: unknown): ApiProblem {
  if (isProblemView(body)) return new ApiProblem(body);
  if (status === 401) return new ApiProblem({ problem: 'not_signed_in', message: 'You are not signed in.' });
  if (status === 502 || status === 503 || status === 504)
    return new ApiProblem({ problem: 'unreachable', message: 'The dashboard server cannot be reached.' });
  return new ApiProblem(UNKNOWN);
}

function isProblemView(body: unknown): body is ProblemView {
  if (typeof body !== 'object' || body === null) return false;
  const { problem, message } = body as Partial<Record<keyof ProblemView, unknown>>;
  return typeof problem === 'string' && typeof message === 'string';
}
