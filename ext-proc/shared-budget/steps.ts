/** Work in steps of bounded length: its driver may let others work between two steps. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** All steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value as Result;
  }
}
