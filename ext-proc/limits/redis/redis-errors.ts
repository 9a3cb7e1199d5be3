import { tlsProblem } from '#core/net/tls-problem.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';

/** This Redis, or its URL, cannot keep limits until the operator changes it. Not an outage. */
export class RedisRefused extends Error {
  override readonly name = 'RedisRefused';
}

/** Replies of a server that cannot serve now, or no longer has this slot. Others are bugs. */
const NOT_NOW =
  /^(LOADING|BUSY|MASTERDOWN|READONLY|OOM|NOREPLICAS|MISCONF|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|UNBLOCKED|NOAUTH|WRONGPASS|NOPERM|ERR max number of clients|ERR The user executing the script)/;

/** Turns every error but a script's own into StoreUnavailable. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof StoreUnavailable || error instanceof RedisRefused) return error;
  if (error.name === 'ReplyError' && !NOT_NOW.test(error.message)) return error;
  return unavailable(error);
}

/**
 * Why there is no connection. Only the message goes on: the error itself carries the command, which
 * may be an AUTH with its password.
 */
export function unavailable(error: Error): StoreUnavailable {
  return new StoreUnavailable(`Redis: ${tlsProblem(error) ?? error.message}`);
}

/** Error of a script for keys that another program has written. */
export function refusedByScript(message: string): Error {
  return new Error(`Redis: ${message}`);
}

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
