export const PROVIDER_APIS = ['chat', 'responses', 'anthropic'] as const;

export type ProviderApi = (typeof PROVIDER_APIS)[number];

/** Paths below the provider's `base_url`. */
export const API_PATHS: Readonly<Record<ProviderApi, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  anthropic: '/messages',
};

/** Path of embeddings, at providers with `api: chat`. */
export const EMBEDDINGS_PATH = '/embeddings';

/** Smallest output limit of an API. Smaller ones are raised to it, which holds must cover. */
export const LEAST_OUTPUT_TOKENS: Readonly<Record<ProviderApi, number>> = { chat: 1, responses: 16, anthropic: 1 };
