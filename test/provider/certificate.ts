import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/**
 * A self-signed certificate for `localhost` and 127.0.0.1, valid for a day. It is generated on the
 * fly, so the repository contains no private key and no openssl is needed. It is its own CA:
 * clients trust it when it is in their list of CAs.
 */
export interface TestCertificate {
  /** PEM texts. */
  readonly key: string;
  readonly cert: string;
}

const ECDSA_SHA256 = oid('2a8648ce3d040302');

/** Certificates that one client trusts together need different names. */
export function makeCertificate(nowMs = Date.now(), commonName = 'inference-gateway test'): TestCertificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const tbs = toBeSigned(privateKey, nowMs, commonName);
  const signature = sign('sha256', tbs, privateKey);
  const der = sequence(tbs, sequence(ECDSA_SHA256), bitString(signature));
  // OpenSSL refuses an empty line, as a break after a full last line would make one.
  const base64 = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

function toBeSigned(privateKey: KeyObject, nowMs: number, commonName: string): Buffer {
  const name = sequence(set(sequence(oid('550403'), element(0x0c, Buffer.from(commonName)))));
  const hourMs = 3_600_000;
  const validity = sequence(utcTime(nowMs - hourMs), utcTime(nowMs + 24 * hourMs));
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const serial = randomBytes(16);
  serial.writeUInt8(0x40, 0); // Positive, and no leading zero byte.
  const altNames = sequence(element(0x82, Buffer.from('localhost')), element(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    sequence(oid('551d11'), octetString(altNames)),
    sequence(oid('551d13'), octetString(sequence(element(0x01, Buffer.from([0xff]))))),
  );
  return sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, serial),
    sequence(ECDSA_SHA256),
    name,
    validity,
    name,
    publicKey,
    element(0xa3, extensions),
  );
}

function element(tag: number, content: Uint8Array): Buffer {
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return element(0x30, Buffer.concat(parts));
}

function set(...parts: readonly Uint8Array[]): Buffer {
  return element(0x31, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'));
}

function octetString(content: Uint8Array): Buffer {
  return element(0x04, content);
}

function bitString(content: Uint8Array): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return element(0x17, Buffer.from(`${text}Z`));
}
