import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { SeenRequest } from './call.ts';

/** Checks signatures as an AWS service does, with the library that the AWS SDKs sign with. */
export interface AwsIdentity {
  readonly region: string;
  readonly service: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * The correct `Authorization` for the headers that the request claims to sign. The request's own
 * value equals it if and only if its signature is valid.
 */
export async function expectedAuthorization(seen: SeenRequest, identity: AwsIdentity): Promise<string> {
  const { region, service, ...credentials } = identity;
  const signed = new Set(/SignedHeaders=([^,]+)/.exec(String(seen.headers.authorization))?.[1]?.split(';') ?? []);
  const host = String(seen.headers.host ?? seen.headers[':authority']);
  const headers: Record<string, string> = {};
  for (const name of signed) headers[name] = name === 'host' ? host : String(seen.headers[name]);
  const { pathname, searchParams } = new URL(seen.path, 'http://provider');
  const signer = new SignatureV4({ region, service, credentials, sha256: Sha256 });
  const request = {
    ...{ method: seen.method, protocol: 'http:', hostname: host, path: pathname, headers, body: seen.body },
    query: Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)])),
  };
  const signingDate = dateOf(String(seen.headers['x-amz-date']));
  const result = await signer.sign(request, { signingDate, signableHeaders: signed });
  return String(result.headers.authorization);
}

/** `20261123T065250Z` */
function dateOf(text: string): Date {
  return new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** SHA-256 with the interface that the library requires. */
class Sha256 {
  readonly #hash;

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: Bytes): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error('a hash is made for each use');
  }
}

function bytesOf(data: Bytes): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
