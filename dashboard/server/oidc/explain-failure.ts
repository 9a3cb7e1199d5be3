const MAX_REASON_CHARACTERS = 200;

/** Reason for the process log. Its length is bounded, because the issuer chooses the words. */
export function explainFailure(error: unknown): string {
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  const inner = cause instanceof Error ? cause.message : undefined;
  return [code, message, inner]
    .filter((one) => typeof one === 'string')
    .join(': ')
    .replace(/[^\x20-\x7e]/g, ' ')
    .slice(0, MAX_REASON_CHARACTERS);
}
