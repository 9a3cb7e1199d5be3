import type { Empty } from './empty.ts';

export interface RequestView {
  readonly id: string;
  readonly atMs: number;
  readonly keyId: string;
  readonly keyName: string;
  readonly model?: string;
  readonly status: number;
  readonly code?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly costNanoUsd?: string;
  readonly firstEventMs?: number;
  readonly durationMs: number;
  readonly streamed: boolean;
  readonly route: string;
}

export interface RequestDetail extends RequestView {
  readonly requestId: string;
  readonly generationId?: string;
  readonly address: string;
  readonly userAgent?: string;
  readonly provider?: string;
  readonly cachedTokens?: number;
  readonly reasoningTokens?: number;
  readonly replayed: boolean;
  readonly clientGone: boolean;
  readonly keyLast4?: string;
}

/** All of them together must hold. */
export interface RequestFilter {
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
  readonly key?: string;
  readonly model?: string;
  /** Failed: with a code. A client that left before there was an answer (status 499, no code) is neither. */
  readonly outcome?: 'succeeded' | 'failed';
  readonly status?: number;
  readonly code?: string;
  /** A request id (x-request-id) or a generation id; the rest of the filter and the paging do not matter then. */
  readonly search?: string;
}

export interface RequestPage {
  /** Newest first. */
  readonly requests: readonly RequestView[];
  /** To be given as `before` for the next, older page; absent: there is none. */
  readonly next?: string;
  /**
   * The filter matches so little that the search was broken off before the page was full: everything since then has been looked at, and
   * `next` goes on from there.
   */
  readonly searchedToMs?: number;
  /** Refused requests that fit the filter, by the minute, and have no line: a key has so many of them in a minute. On every page the same. */
  readonly leftOut: number;
}

export interface RequestLogApi {
  'GET /api/organizations/:organization/requests': {
    /**
     * `after`: only what is newer than that id, for following the log live. A request appears within a second after it has ended, at the
     * time at which it arrived: a long one below newer ones that were there already, so follow from a few minutes back, by id.
     */
    query: RequestFilter & { readonly before?: string; readonly after?: string };
    answer: RequestPage;
  };
  'GET /api/organizations/:organization/requests/:request': { query: Empty; answer: RequestDetail };
}
