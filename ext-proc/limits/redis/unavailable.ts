import { tlsProblem } from '../../../core/net/tls-problem.ts';
import { StoreUnavailable } from '../../../core/store-unavailable.ts';
import { RedisRefused } from './refused.ts';

/**
 * Replies of a server that cannot serve now, or no longer serves this slot. Every other refusal is
 * a bug.
 */
const NOT_NOW =
  /^(LOADING|BUSY|MASTERDOWN|READONLY|OOM|NOREPLICAS|MISCONF|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|UNBLOCKED|NOAUTH|WRONGPASS|NOPERM|ERR max number of clients|ERR The user executing the script)/;

/**
 * Everything that is not an answer of a script means that Redis is away. Only the message goes on:
 * the error itself carries the command, which may be an AUTH with its password.
 */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof StoreUnavailable || error instanceof RedisRefused) return error;
  if (error.name === 'ReplyError' && !NOT_NOW.test(error.message)) return error;
  return new StoreUnavailable(`Redis: ${tlsProblem(error) ?? error.message}`);
}

/** Error of a script for keys that another program has written. */
export function refusedByScript(message: string): Error {
  return new Error(`Redis: ${message}`);
}

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
