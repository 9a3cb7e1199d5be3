import type { ProviderApi } from '#core/config/provider-api.ts';
import { ANTHROPIC } from '../../dialects/anthropic/anthropic.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { RESPONSES } from '../../dialects/responses/responses.ts';

/** The dialect of an API by its name, which threads can be given; none for chat completions. */
export const DIALECTS: Readonly<Record<ProviderApi, Dialect | undefined>> = {
  chat: undefined,
  responses: RESPONSES,
  anthropic: ANTHROPIC,
};
