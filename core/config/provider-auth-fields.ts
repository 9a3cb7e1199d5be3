import type { z } from 'zod';
import { parsePublicUrl } from './network-names.ts';
import type { RuleProblem } from './problem.ts';
import { list, matching, readText, section } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/**
 * Fields of a provider whose requests Envoy authorizes. Credentials are optional here and required
 * by a rule, because a missing variable only disables its provider.
 */

const aws = section({
  region: matching(/^[a-z0-9-]{1,64}$/, 'the region of the endpoint, such as eu-central-1'),
  service: matching(/^[a-z0-9-]{1,64}$/, 'the name of the service in signatures, such as bedrock'),
  access_key_id: matching(/^\w{1,128}$/, '1 to 128 letters, digits and "_"').optional(),
  secret_access_key: matching(/^[A-Za-z0-9/+=]{1,256}$/, '1 to 256 letters, digits and / + =').optional(),
  session_token: matching(/^[A-Za-z0-9/+=_-]{1,8192}$/, '1 to 8192 letters, digits and / + = _ -').optional(),
});

const CLIENT_CREDENTIAL = '1 to 1024 visible ASCII characters';
const clientCredential = matching(/^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/, CLIENT_CREDENTIAL);

/** RFC 6749, "Access Token Scope". */
const scope = matching(/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/, 'a scope without spaces, quotes and backslashes');

const oauth2 = section({
  token_url: readText('an http or https URL without credentials and fragment', (text) => {
    const url = text.includes('#') ? undefined : parsePublicUrl(text);
    return url === undefined ? undefined : new URL(url);
  }),
  client_id: clientCredential.optional(),
  client_secret: clientCredential.optional(),
  scopes: list(scope, 0, 32, 'scopes such as https://cognitiveservices.azure.com/.default').prefault([]),
});

/** Headers that the gateway or Envoy sets, that describe body or connection, or control Envoy. */
export const RESERVED =
  'accept|accept-encoding|connection|content-[^:]*|expect|host|keep-alive|proxy-[^:]*|te|trailer|traceparent|tracestate|transfer-encoding|upgrade|x-envoy-[^:]*|x-gw-[^:]*';
export const TOKEN = '[A-Za-z0-9][A-Za-z0-9._-]{0,63}';

/** Replaces `Authorization: Bearer …`. */
export const auth = section({
  header: matching(
    new RegExp(`^(?!(?:${RESERVED})$)${TOKEN}$`, 'i'),
    'the name of the header that carries the key, such as api-key, and none that describes the body or the connection',
  ).optional(),
  aws: aws.optional(),
  oauth2: oauth2.optional(),
});

type AuthEntry = z.output<typeof auth>;

/** Rules between the ways of authorization, and the credentials that each needs. */
export function checkAuth(provider: Path, auth: AuthEntry | undefined, hasKey: boolean): RuleProblem[] {
  if (auth === undefined) return [];
  const path = [...provider, 'auth'];
  const ways = [auth.header, auth.aws, auth.oauth2].filter((way) => way !== undefined);
  if (ways.length !== 1) return [{ path, message: 'must have exactly one of header, aws, oauth2' }];
  const problems: RuleProblem[] = [];
  const demand = (way: 'aws' | 'oauth2', name: string, reason: string) =>
    problems.push({ path: [...path, way, name], message: `is required${reason}` });
  if (hasKey && auth.header === undefined)
    problems.push({ path: [...provider, 'api_key'], message: 'has no place beside auth.aws or auth.oauth2' });
  if (auth.aws !== undefined) {
    const { access_key_id, secret_access_key, session_token } = auth.aws;
    const given = [access_key_id, secret_access_key, session_token].some((credential) => credential !== undefined);
    const reason = " beside the other credentials; without any, those of Envoy's environment are used";
    if (given && access_key_id === undefined) demand('aws', 'access_key_id', reason);
    if (given && secret_access_key === undefined) demand('aws', 'secret_access_key', reason);
  }
  if (auth.oauth2 !== undefined) {
    const { client_id, client_secret } = auth.oauth2;
    if (client_id === undefined) demand('oauth2', 'client_id', `: ${CLIENT_CREDENTIAL}`);
    if (client_secret === undefined) demand('oauth2', 'client_secret', `: ${CLIENT_CREDENTIAL}`);
  }
  return problems;
}
