/** Work in steps of bounded length. Other work may be done between two steps. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Takes all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value as Result;
  }
}
