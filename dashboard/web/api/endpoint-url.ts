import type { Api, Body, Endpoint, PathParameter, Query } from '#contract/api.ts';

export type AskEndpoint = Extract<Endpoint, `GET ${string}`>;
export type SendEndpoint = Exclude<Endpoint, AskEndpoint>;

/** `undefined` counts as absent, so that the state of a filter can be passed as it is. */
type Loose<Q> = { readonly [K in keyof Q]: Q[K] | undefined };
type WithParams<E extends Endpoint> = [PathParameter<E>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<PathParameter<E>, string>> };
type WithQuery<E extends AskEndpoint> = keyof Query<E> extends never
  ? { readonly query?: undefined }
  : Partial<Query<E>> extends Query<E>
    ? { readonly query?: Loose<Query<E>> }
    : { readonly query: Loose<Query<E>> };
type WithBody<E extends SendEndpoint> = keyof Body<E> extends never
  ? { readonly body?: undefined }
  : { readonly body: Body<E> };

export type AskInput<E extends AskEndpoint> = WithParams<E> & WithQuery<E>;
export type SendInput<E extends SendEndpoint> = WithParams<E> & WithBody<E>;
/** Makes the input optional if all of its fields are. */
export type Optional<Input> = Partial<Input> extends Input ? [input?: Input] : [input: Input];

export interface Values {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
}

/** Method and URL of an endpoint with its parameters filled in. */
export function endpointUrl(endpoint: keyof Api, { params = {}, query = {} }: Values): { method: string; url: string } {
  const space = endpoint.indexOf(' ');
  const path = endpoint.slice(space + 1).replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined || value === '') throw new Error(`${endpoint} needs ${name}`);
    return encodeURIComponent(value);
  });
  return { method: endpoint.slice(0, space), url: path + queryText(query) };
}

/** `?a=1&b=2`, or nothing. Absent and empty values are left out. */
export function queryText(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]): [string, string] => [name, String(value)]);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
