/** APIs that clients may speak beside chat completions, if the configuration has them on. */
export const DOOR_APIS = ['responses', 'messages', 'embeddings'] as const;

export type DoorApi = (typeof DOOR_APIS)[number];

export const APIS = ['chat', ...DOOR_APIS] as const;

/** The API that a client speaks. */
export type Api = (typeof APIS)[number];
