/** No query, no body, or nothing to say. */
export type Empty = Readonly<Record<never, never>>;
