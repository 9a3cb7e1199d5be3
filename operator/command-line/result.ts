/** Result of a command; main.ts turns it into output and exit status. */
export type Result =
  | { readonly kind: 'done'; readonly json: object; readonly text: string }
  /** Exit status 1. With `json`, that is what `--json` prints. */
  | { readonly kind: 'refused'; readonly message: string; readonly json?: object }
  /** Exit status 2: what is wrong, and what is accepted. */
  | { readonly kind: 'usage'; readonly message: string };

export function refused(message: string): Result {
  return { kind: 'refused', message };
}
