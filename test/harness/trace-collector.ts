import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';

/**
 * An OTLP/HTTP receiver on loopback, in the role of an operator's collector. It keeps the spans.
 */
export interface TraceCollector {
  readonly url: string;
  /** In the order of their arrival. */
  spans(): readonly SeenSpan[];
  /** Headers of every export. */
  readonly headers: readonly IncomingHttpHeaders[];
  /** Sets the status of all further responses. `hang` receives the export and never responds. */
  answerWith(status: number | 'hang'): void;
  close(): Promise<void>;
}

export interface SeenSpan {
  readonly traceId: string;
  readonly id: string;
  /** Empty for a root span. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  readonly service: unknown;
}

const ERROR_STATUS = 2;

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: SeenSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const sockets = new Set<Socket>();
  let answer: number | 'hang' = 200;
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    headers.push(request.headers);
    if (answer === 'hang') return;
    if (answer === 200) spans.push(...spansIn(Buffer.concat(pieces)));
    respond(response, answer);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans: () => spans,
    headers,
    answerWith(next) {
      answer = next;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function respond(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
}

const PROTO = fileURLToPath(new URL('./otlp_trace.proto', import.meta.url));
const SERVICE = 'opentelemetry.proto.trace.v1.TraceService';
const { [SERVICE]: service } = loadSync(PROTO, { longs: String, arrays: true, bytes: Buffer });

/** The spans in an export's body, decoded without the library that encoded them. */
export function spansIn(body: Buffer): SeenSpan[] {
  const read = (service as ServiceDefinition).Export?.requestDeserialize(body) as ExportRequest | undefined;
  return (read?.resourceSpans ?? []).flatMap(({ resource, scopeSpans }) => {
    const { 'service.name': name } = recordOf(resource?.attributes);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => seenSpan(span, name)));
  });
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly ReadSpan[] }[];
  }[];
}

interface ReadSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId?: Buffer;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly KeyValue[];
  readonly events: readonly { readonly name: string }[];
}

interface KeyValue {
  readonly key: string;
  readonly value?: AnyValue;
}

interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly boolValue?: boolean;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}

function seenSpan(span: ReadSpan, service: unknown): SeenSpan {
  return {
    traceId: span.traceId.toString('hex'),
    id: span.spanId.toString('hex'),
    parentId: span.parentSpanId?.toString('hex') ?? '',
    state: span.traceState ?? '',
    name: span.name,
    kind: span.kind,
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    failed: span.status?.code === ERROR_STATUS,
    attributes: recordOf(span.attributes),
    events: span.events.map(({ name }) => name),
    service,
  };
}

function recordOf(attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value && plainValue(value)]));
}

function plainValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: AnyValue): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(plainValue);
  return intValue === undefined ? (stringValue ?? doubleValue ?? boolValue) : Number(intValue);
}
