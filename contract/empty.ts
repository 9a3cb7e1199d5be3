/** No query, no body, or an empty response. */
export type Empty = Readonly<Record<never, never>>;
