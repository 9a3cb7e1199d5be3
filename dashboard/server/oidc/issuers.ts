import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  genericGrantRequest,
  ResponseBodyError,
} from 'openid-client';
import type { Clock } from '#core/clock.ts';
import type { OidcConfig } from '#core/config/dashboard-config.ts';
import type { Log } from '#core/log/log.ts';
import { createWorkQueue } from '../fairness/work-queue.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { explainFailure, isClientRefused } from './explain-failure.ts';

/** Time for each of up to four requests of a sign-in: together less than the page waits. */
const REQUEST_SECONDS = 4;
const METADATA_MS = 3_600_000;
/** An issuer that does not respond is not called again for this time. */
const HOLD_OFF_MS = 5_000;
/** Sign-ins that may wait for the issuer at once. */
const MAX_AT_ONCE = 32;

export interface Issuers {
  /** `undefined`: the issuer is unavailable or has invalid metadata. The reason was logged. */
  find(config: OidcConfig): Promise<Configuration | undefined>;
  /** `busy`: too many sign-ins already wait for the issuer. */
  ask<T>(work: () => Promise<T>): Promise<T | 'busy'>;
  readonly log: Pick<Log, 'warn'>;
}

interface Known {
  readonly config: OidcConfig;
  readonly untilMs: number;
  readonly found: Promise<Configuration | undefined>;
}

export function createIssuers(log: Pick<Log, 'warn'>, clock: Pick<Clock, 'monotonicMs'>): Issuers {
  let known: Known | undefined;
  const turn = createWorkQueue({ atOnce: MAX_AT_ONCE, maxWaiting: 0 });

  async function discover(config: OidcConfig): Promise<Configuration | undefined> {
    try {
      return await discoverIssuer(config);
    } catch (error) {
      log.warn({ issuer: config.issuer, reason: explainFailure(error) }, 'the issuer of sign-ins is unavailable');
      known = { config, untilMs: clock.monotonicMs() + HOLD_OFF_MS, found: Promise.resolve(undefined) };
      return undefined;
    }
  }

  return {
    log,
    find(config) {
      if (known?.config === config && clock.monotonicMs() < known.untilMs) return known.found;
      const found = discover(config);
      known = { config, untilMs: clock.monotonicMs() + METADATA_MS, found };
      return found;
    },
    ask: (work) => turn('stranger', work),
  };
}

/**
 * Fetches the issuer's metadata and redeems a code that does not exist, because only that shows
 * whether the issuer takes the client's secret. Returns the reason of a failure, with bounded
 * length.
 */
export async function checkIssuer(config: OidcConfig): Promise<string | undefined> {
  try {
    await genericGrantRequest(await discoverIssuer(config), 'authorization_code', { code: 'none' });
    return undefined;
  } catch (error) {
    return error instanceof ResponseBodyError && !isClientRefused(error) ? undefined : explainFailure(error);
  }
}

/** Enables signature checks. Without them the library relies on TLS alone for ID tokens. */
function discoverIssuer({ issuer, clientId, clientSecret }: OidcConfig): Promise<Configuration> {
  const url = new URL(issuer);
  const execute = [enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [allowInsecureRequests] : [])];
  const options = { execute, timeout: REQUEST_SECONDS, [customFetch]: boundedFetch(url) };
  return discovery(url, clientId, {}, clientAuth(clientSecret), options);
}

/** An authentication method that the issuer supports. Default: the header, as in the standard. */
function clientAuth(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method = methods.includes('client_secret_basic') ? basic : post;
    return method(server, client, body, headers);
  };
}
