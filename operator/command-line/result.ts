/** Result of a command. main.ts converts it to output and exit status. */
export type Result =
  | { readonly kind: 'done'; readonly json: object; readonly text: string }
  /**
   * Exit status 1. `json`, if present, is the output with `--json`. `isReport`: the message is what
   * was asked for, so it goes to standard output.
   */
  | { readonly kind: 'refused'; readonly message: string; readonly json?: object; readonly isReport?: true }
  /** Exit status 2. The message says what is wrong and what is accepted. */
  | { readonly kind: 'usage'; readonly message: string };

export function refused(message: string): Result {
  return { kind: 'refused', message };
}
