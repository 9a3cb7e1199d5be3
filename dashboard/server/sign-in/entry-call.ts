import type { UserCall } from '../route.ts';

/** A call of a route that lets somebody in. */
export type EntryCall = Pick<UserCall, 'deps' | 'caller' | 'cookies'>;
