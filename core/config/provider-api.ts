/** APIs that a provider may speak, with their paths below its `base_url`. */
export const API_PATHS = {
  chat: '/chat/completions',
  responses: '/responses',
  anthropic: '/messages',
} as const;

export type ProviderApi = keyof typeof API_PATHS;

export const PROVIDER_APIS = ['chat', 'responses', 'anthropic'] as const satisfies readonly ProviderApi[];
