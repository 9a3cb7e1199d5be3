import { randomBytes, timingSafeEqual, type X509Certificate } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { ListenConfig } from '#core/config/gateway-config.ts';
import { loopbackFor } from '#core/net/loopback.ts';
import { DRAINING } from '#core/process-figures.ts';
import { sharedFile } from '#core/shared-file.ts';

/**
 * Ready means that a request through Envoy would be served, so the check sends one with a key that
 * does not exist. It passes Envoy, ext_proc and the key lookup in PostgreSQL, and must get our own
 * 401.
 */
export type Readiness = ReturnType<typeof createReadiness>;

const PROBE_TIMEOUT_MS = 2000;
/** Lifetime of a cached result, so that a load balancer that checks often causes no load. */
const REMEMBER_MS = 500;

export interface ReadinessOptions {
  readonly listen: ListenConfig;
  /** Envoy's host if it is in another network. Absent: the address of `listen.api`. */
  readonly envoyHost?: string;
  readonly probeKey: string;
  /** Reason while Envoy ends, asked before the probe: an ending Envoy no longer listens. */
  envoyEnds(): string | undefined;
  /** Reason that the probe cannot find, because only an admitted request would meet it. */
  completionsRefused(): Promise<string | undefined>;
}

export function createReadiness(options: ReadinessOptions) {
  const { listen, probeKey, completionsRefused } = options;
  const host = options.envoyHost ?? loopbackFor(listen.api.host);
  const authorization = `Bearer ${probeKey}`;
  let expiresAtMs: number | undefined;
  const probe = () =>
    probeEnvoy(host, listen, authorization, (certificate) => {
      expiresAtMs = certificate?.validToDate.getTime();
    });
  const check = async () => (await probe()) ?? (await completionsRefused());
  let draining = false;
  let last: { atMs: number; result: Promise<string | undefined> } | undefined;
  function notReady(): Promise<string | undefined> {
    const ending = draining ? DRAINING : options.envoyEnds();
    if (ending !== undefined) return Promise.resolve(ending);
    if (last === undefined || performance.now() - last.atMs > REMEMBER_MS) {
      last = { atMs: performance.now(), result: check() };
    }
    return last.result;
  }
  return {
    notReady,
    /** When the certificate ends that Envoy last served. `undefined`: none, or not seen yet. */
    async certificateExpiresAtMs(): Promise<number | undefined> {
      await notReady();
      return expiresAtMs;
    },
    /**
     * True for a probe of this deployment's gateway processes, which gets no access line. A
     * customer's key has another length, so it costs one comparison of numbers.
     */
    isProbe: (value: string | undefined): boolean =>
      value?.length === authorization.length && isSame(value, authorization),
    /** Notes that the process drains. It is never ready again. */
    drain(): void {
      draining = true;
    },
  };
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Reads the key of the probes, which exists only in this file. The gateway processes of one
 * deployment share it, since Envoy may route a probe to any of them.
 */
export async function sharedProbeKey(path: string): Promise<string> {
  return (await sharedFile(path, () => `sk-gw-${randomBytes(24).toString('base64url')}`)).toString();
}

function probeEnvoy(
  host: string,
  listen: ListenConfig,
  authorization: string,
  onCertificate: (served: X509Certificate | undefined) => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const send = listen.tls ? httpsRequest : httpRequest;
    const outgoing = send(
      {
        host,
        port: listen.api.port,
        path: '/v1/models',
        headers: { authorization, connection: 'close' },
        agent: false,
        // The certificate of the listener names the public host, not this address.
        rejectUnauthorized: false,
      },
      (response) => {
        response.resume();
        if (response.socket instanceof TLSSocket) onCertificate(response.socket.getPeerX509Certificate());
        resolve(
          response.statusCode === 401 ? undefined : `a request through Envoy was answered ${response.statusCode}`,
        );
      },
    );
    outgoing.setTimeout(PROBE_TIMEOUT_MS, () => outgoing.destroy(new Error('no answer in time')));
    outgoing.on('error', (error) => resolve(`a request through Envoy failed: ${error.message}`));
    outgoing.end();
  });
}
