/** Result of a command. main.ts converts it to output and exit status. */
export type Result =
  | { readonly kind: 'done'; readonly json: object; readonly text: string }
  /** Exit status 1. `json`, if present, is the output with `--json`. */
  | { readonly kind: 'refused'; readonly message: string; readonly json?: object }
  /** Exit status 2. The message says what is wrong and what is accepted. */
  | { readonly kind: 'usage'; readonly message: string };

export function refused(message: string): Result {
  return { kind: 'refused', message };
}
