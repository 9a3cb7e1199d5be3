import { Pool } from 'undici';
import { ProviderCall, type ProviderRequest } from './provider-call.ts';

/**
 * Provider calls, over Envoy's egress socket. undici's dispatch costs half of node:http here (26 against 52 us of CPU for a 1 KB request,
 * 49 against 97 us at 1,000 connections).
 */
export interface ProviderClient {
  call(request: ProviderRequest): ProviderCall;
  close(): Promise<void>;
}

/** Above this many calls at once the rest queue; Envoy's own circuit breakers lie far higher. */
const MAX_CONNECTIONS = 8192;
const CONNECT_TIMEOUT_MS = 2000;
/** Envoy keeps idle egress connections for an hour, so that we are always the first to close. */
const KEEP_ALIVE_MS = 60_000;
const MAX_HEADER_BYTES = 64 * 1024;

export function createProviderClient(egressSocketPath: string): ProviderClient {
  const pool = new Pool('http://egress', {
    socketPath: egressSocketPath,
    connections: MAX_CONNECTIONS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The deadlines are a call's own.
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
  });
  return {
    call(request) {
      const call = new ProviderCall();
      pool.dispatch({ method: 'POST', path: request.path, headers: request.headers, body: request.body }, call);
      return call;
    },
    close: () => pool.destroy(),
  };
}
