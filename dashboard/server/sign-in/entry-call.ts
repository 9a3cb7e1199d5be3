import type { UserCall } from '../route.ts';

/** What routes that let somebody in are called with. */
export type EntryCall = Pick<UserCall, 'deps' | 'caller' | 'cookies'>;
