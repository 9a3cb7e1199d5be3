/** APIs besides chat completions that clients may speak if the configuration enables them. */
export const DOOR_APIS = ['responses', 'messages', 'embeddings'] as const;

export type DoorApi = (typeof DOOR_APIS)[number];

export const APIS = ['chat', ...DOOR_APIS] as const;

/** The API that a client speaks. */
export type Api = (typeof APIS)[number];

/** The API of a route. Absent: the route makes no output of a model. */
export function routeApi(route: string): Api | undefined {
  return APIS.find((api) => api === route);
}
