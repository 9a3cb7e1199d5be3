import { MINUTE_MS } from '../clock.ts';
import { present } from '../present.ts';
import type { Provider } from './gateway-config.ts';
import { parseBaseUrl } from './network-names.ts';
import type { RuleProblem } from './problem.ts';
import { API_PATHS, type ProviderApi } from './provider-api.ts';
import { duration, matching, readText, section } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Address of a provider: one `base_url`, or the `endpoints` of interchangeable servers. */

/** Most endpoints. Each is a host, or all hosts of a name, among which Envoy chooses. */
export const MAX_ENDPOINTS = 64;

const SECOND_MS = 1000;

export const healthCheck = section({
  path: matching(
    /^\/[\x21\x22\x24-\x7e]{0,1023}$/,
    'a path from the root such as /health: 1 to 1024 visible ASCII characters',
  ),
  interval: duration(SECOND_MS, MINUTE_MS).prefault('5s'),
});

export const endpointPicker = readText('the address of an endpoint picker such as grpc://picker:9002', (text) => {
  const url = /^grpc:\/\/.*:\d{1,5}$/.test(text) ? parseBaseUrl(text.replace(/^grpc/, 'http')) : undefined;
  return url?.pathname === '/' ? url : undefined;
});

interface PlaceEntry {
  readonly endpoint_picker?: URL | undefined;
  readonly health_check?: { readonly path: string; readonly interval: number } | undefined;
  readonly api: ProviderApi;
  readonly base_url?: URL | undefined;
  readonly endpoints?: readonly URL[] | undefined;
  readonly auth?: { readonly aws?: unknown; readonly oauth2?: { readonly token_url: URL } | undefined } | undefined;
}

/** The URLs of a provider. All have the same scheme and path. */
export function urlsOf({ base_url, endpoints }: Pick<PlaceEntry, 'base_url' | 'endpoints'>): readonly URL[] {
  return endpoints ?? (base_url === undefined ? [] : [base_url]);
}

/** True if any connection of the provider needs certificates. */
export function usesTls(entry: PlaceEntry): boolean {
  return [...urlsOf(entry), entry.auth?.oauth2?.token_url].some((url) => url?.protocol === 'https:');
}

export function placeOf(entry: PlaceEntry): Pick<Provider, 'baseUrl' | 'endpoints' | 'endpointPicker' | 'healthCheck'> {
  const { endpoints, endpoint_picker: endpointPicker, health_check: check } = entry;
  const [baseUrl] = urlsOf(entry);
  if (baseUrl === undefined) throw new Error('a provider without a URL has passed the rules');
  return {
    baseUrl,
    ...present({ endpoints, endpointPicker, healthCheck: check && { path: check.path, intervalMs: check.interval } }),
  };
}

export function checkPlace(path: Path, entry: PlaceEntry): RuleProblem[] {
  const { base_url, endpoints, auth } = entry;
  if (base_url === undefined && endpoints === undefined)
    return [{ path, message: 'must have a base_url, or the endpoints of servers that serve the same' }];
  const problems = checkPaths(path, entry);
  if (endpoints === undefined) {
    if (entry.endpoint_picker !== undefined)
      problems.push({ path: [...path, 'endpoint_picker'], message: 'is for endpoints, of which it picks one' });
    return problems;
  }
  if (base_url !== undefined)
    problems.push({ path: [...path, 'endpoints'], message: 'is given beside base_url; keep one of the two' });
  if (auth?.aws !== undefined)
    problems.push({ path: [...path, 'endpoints'], message: 'must be base_url with auth.aws, which signs the host' });
  const [first] = endpoints;
  const hrefs = endpoints.map(({ href }) => href);
  for (const [index, url] of endpoints.entries()) {
    const here = [...path, 'endpoints', index];
    if (url.protocol !== first?.protocol || url.pathname !== first.pathname)
      problems.push({ path: here, message: 'must have the scheme and the path of the first' });
    else if (hrefs.indexOf(url.href) < index) problems.push({ path: here, message: 'is given twice; keep one' });
  }
  return problems;
}

/** Rejects the URL of an API itself, as in providers' examples: requests would get 404. */
function checkPaths(path: Path, entry: PlaceEntry): RuleProblem[] {
  return urlsOf(entry).flatMap((url, index) => {
    const known = [API_PATHS.chat, API_PATHS[entry.api]].find((api) => url.pathname.endsWith(api));
    if (known === undefined) return [];
    const place = entry.endpoints === undefined ? ['base_url'] : ['endpoints', index];
    return [{ path: [...path, ...place], message: `must end before ${known}, which is put behind it` }];
  });
}
