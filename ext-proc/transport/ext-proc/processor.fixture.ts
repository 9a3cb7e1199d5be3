import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as netConnect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type ClientDuplexStream, credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { waitFor } from '#packages/http2-server/frames.fixture.ts';

/**
 * Envoy's side of the ext_proc service, read by grpc-js and proto-loader: a second reading of the
 * .proto, independent of the generated code.
 */
export function connectProcessor(socketPath: string): ProcessorClient {
  const service = loadSync(fileURLToPath(new URL('../../../proto/ext_proc.proto', import.meta.url)), {
    keepCase: true,
  });
  const loaded = loadPackageDefinition(service) as unknown as LoadedPackage;
  return new loaded.envoy.service.ext_proc.v3.ExternalProcessor(`unix:${socketPath}`, credentials.createInsecure());
}

export const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

export function openSession(socketPath: string): ClientHttp2Session {
  return connect('http://any', { createConnection: () => netConnect(socketPath) });
}

export function grpcStatus(session: ClientHttp2Session, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    stream.on('response', (all) => resolve(all['grpc-status']));
    stream.on('error', reject);
  });
}

interface HeaderValue {
  readonly key: string;
  readonly raw_value: Buffer;
}

export interface Reply {
  readonly request_headers?: {
    response: {
      header_mutation: { set_headers: { header: HeaderValue }[]; remove_headers: string[] };
      clear_route_cache: boolean;
    };
  };
  readonly request_body?: { response: { body_mutation: { streamed_response: { end_of_stream: boolean } } } };
  readonly request_trailers?: object;
  readonly streamed_immediate_response?: {
    headers_response?: { headers: { headers: HeaderValue[] }; end_of_stream?: boolean };
    body_response?: { body?: Buffer; end_of_stream?: boolean };
  };
}

export interface ProcessorClient {
  Process(): ClientDuplexStream<object, Reply>;
  close(): void;
}

interface LoadedPackage {
  envoy: {
    service: { ext_proc: { v3: { ExternalProcessor: new (address: string, creds: object) => ProcessorClient } } };
  };
}

export interface Call {
  write(message: object): void;
  end(): void;
  /** The next `count` replies. */
  take(count: number): Promise<Reply[]>;
  /** The gRPC status, or undefined when the stream did not end in that time. */
  statusWithin(ms: number): Promise<number | undefined>;
}

export function open(client: ProcessorClient): Call {
  const call = client.Process();
  const replies: Reply[] = [];
  let status: number | undefined;
  call.on('data', (reply) => replies.push(reply));
  call.on('error', () => undefined);
  call.on('status', ({ code }) => {
    status = code;
  });
  return {
    write: (message) => call.write(message),
    end: () => call.end(),
    async take(count) {
      await waitFor(() => replies.length >= count);
      return replies.splice(0, count);
    },
    async statusWithin(ms) {
      await waitFor(() => status !== undefined, ms).catch(() => undefined);
      return status;
    },
  };
}

export function headers(values: Readonly<Record<string, string>>, endOfStream = false): object {
  const list = Object.entries({ ':authority': 'gateway', ...values }).map(([key, value]) => ({
    key,
    raw_value: Buffer.from(value),
  }));
  return { request_headers: { headers: { headers: list }, end_of_stream: endOfStream } };
}

export function headerMap(head: { headers: { headers: HeaderValue[] } } | undefined): Record<string, string> {
  return Object.fromEntries((head?.headers.headers ?? []).map(({ key, raw_value }) => [key, String(raw_value)]));
}
