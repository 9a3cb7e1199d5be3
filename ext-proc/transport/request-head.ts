import type { HttpHeaders, ProcessingRequest } from '../../proto/generated/ext_proc.ts';

/** What is known of a request when its headers are here. */
export interface RequestHead {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly peerAddress: string;
  readonly headers: ReadonlyMap<string, string>;
  /** Neither body nor trailers follow. */
  readonly bodiless: boolean;
  /** More or longer headers than the gateway takes. */
  readonly oversized: boolean;
  /** From content-length; 0 when there is none. */
  readonly declaredBytes: number;
}

export const MAX_HEADER_BYTES = 64 * 1024;
/** A client's hundred, and those that Envoy adds and pseudo-headers. */
const MAX_HEADERS = 110;

const FILTER = 'envoy.filters.http.ext_proc';

export function readHead(message: ProcessingRequest, head: HttpHeaders): RequestHead {
  const headers = new Map<string, string>();
  const listed = head.headers?.headers ?? [];
  let headerBytes = 0;
  for (const { key, rawValue } of listed) {
    if (key === undefined) continue;
    headerBytes += key.length + (rawValue?.length ?? 0);
    // Latin-1 keeps every byte, as Node's own HTTP parser does.
    const value = rawValue?.toString('latin1') ?? '';
    const earlier = headers.get(key);
    headers.set(key, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  // HTTP/2 has no host header, and Envoy names both alike.
  const authority = headers.get(':authority');
  if (authority !== undefined) headers.set('host', authority);
  const declared = Number(headers.get('content-length') ?? 0);
  return {
    requestId: headers.get('x-request-id') ?? '',
    method: headers.get(':method') ?? '',
    path: headers.get(':path') ?? '',
    peerAddress: withoutPort(message.attributes?.[FILTER]?.fields?.['source.address']?.stringValue ?? ''),
    headers,
    oversized: headerBytes > MAX_HEADER_BYTES || listed.length > MAX_HEADERS,
    bodiless: head.endOfStream === true,
    declaredBytes: Number.isSafeInteger(declared) ? declared : Number.MAX_SAFE_INTEGER,
  };
}

/** `192.0.2.1:4711` or `[2001:db8::1]:4711`; anything else (a peer on a Unix socket) has no address. */
function withoutPort(address: string): string {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):\d+$/.exec(address);
  return match?.[1] ?? match?.[2] ?? '';
}
