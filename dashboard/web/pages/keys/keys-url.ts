import { oneOf, text, type UrlState, urlReader } from '../../search/url-values.ts';

/** `ended` means revoked or expired. */
export const KEY_GROUPS = ['usable', 'ended', 'all'] as const;
export type KeyGroup = (typeof KEY_GROUPS)[number];

/** `show`: absent is `usable`. `key`: the key in the drawer. */
export const readKeysUrl = urlReader({ search: text, show: oneOf(KEY_GROUPS), key: text, dialog: oneOf(['create']) });

export type KeysUrlState = UrlState<typeof readKeysUrl>;
