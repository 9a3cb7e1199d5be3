/**
 * Only printable ASCII, so that addresses that look the same are the same. Lower case, so that one
 * mailbox is one user. No mail is sent, so it is not checked that the address exists.
 */
const EMAIL = /^[!#-'*+\-./0-9=?A-Z^_`a-z{|}~]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;
const MAX_LENGTH = 254;

/** Normalizes an e-mail address. `undefined`: the text is not one. */
export function normalizeEmail(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed.length <= MAX_LENGTH && EMAIL.test(trimmed) ? trimmed.toLowerCase() : undefined;
}
