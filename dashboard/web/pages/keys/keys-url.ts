import { KEY_GROUPS } from '#core/key-filter.ts';
import { oneOf, text, type UrlState, urlReader } from '../../search/url-values.ts';

/** `show`: absent is `usable`. `key`: the key in the drawer. */
export const readKeysUrl = urlReader({ search: text, show: oneOf(KEY_GROUPS), key: text, dialog: oneOf(['create']) });

export type KeysUrlState = UrlState<typeof readKeysUrl>;
