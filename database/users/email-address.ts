/**
 * Printable ASCII only, so that two addresses that look the same are the same; lower case, so that
 * one mailbox is one user. Nothing is ever mailed: whether the address is somebody's is not this
 * function's business.
 */
const EMAIL = /^[!#-'*+\-./0-9=?A-Z^_`a-z{|}~]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;
const MAX_LENGTH = 254;

/** `undefined`: this is no e-mail address. */
export function normalizeEmail(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed.length <= MAX_LENGTH && EMAIL.test(trimmed) ? trimmed.toLowerCase() : undefined;
}
