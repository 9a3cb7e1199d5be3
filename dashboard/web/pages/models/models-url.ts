import { ABILITIES } from '../../models/model-labels.ts';
import { oneOf, text, type UrlState, urlReader } from '../../search/url-values.ts';

/** `key`: only models that this key may use. */
export const readModelsUrl = urlReader({ search: text, can: oneOf(ABILITIES), key: text });

export type ModelsUrlState = UrlState<typeof readModelsUrl>;
