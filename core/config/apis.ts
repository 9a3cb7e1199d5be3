/** APIs besides chat completions that clients may speak if the configuration enables them. */
export const DOOR_APIS = ['responses', 'messages', 'embeddings'] as const;

export type DoorApi = (typeof DOOR_APIS)[number];

export const APIS = ['chat', ...DOOR_APIS] as const;

/** The API that a client speaks. */
export type Api = (typeof APIS)[number];

/** True if a route, which has the name of its API, is for output of a model. */
export function isApi(route: string): route is Api {
  return APIS.some((api) => api === route);
}
