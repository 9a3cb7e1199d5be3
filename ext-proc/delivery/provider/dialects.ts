import type { ProviderApi } from '#core/config/provider-api.ts';
import { ANTHROPIC } from '../../dialects/anthropic/anthropic.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { RESPONSES } from '../../dialects/responses/responses.ts';

/** Dialects by the name of the API, which can be sent to threads. Chat completions need none. */
export const DIALECTS: Readonly<Record<ProviderApi, Dialect | undefined>> = {
  chat: undefined,
  responses: RESPONSES,
  anthropic: ANTHROPIC,
};
