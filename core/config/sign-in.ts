import type { z } from 'zod';
import { isLoopback } from '../net/loopback.ts';
import { present } from '../present.ts';
import type { SignInConfig } from './dashboard-config.ts';
import type { RuleProblem } from './problem.ts';
import { flag, list, matching, named, readText, section } from './schema-fields.ts';

const CLIENT_SECRET = '1 to 4096 visible ASCII characters, as the issuer shows them';
const CLAIM = 'the name of a claim such as groups or https://example.com/roles: 1 to 128 visible ASCII characters';

const oidc = section({
  issuer: readText(
    'an https URL such as https://login.example.com, without credentials, query and fragment; http only for this machine',
    parseIssuer,
  ),
  name: matching(/^[^\p{Cc}]{1,40}$/u, '1 to 40 characters, for the button of the sign-in page').optional(),
  client_id: matching(/^[\x21-\x7e]{1,512}$/, '1 to 512 visible ASCII characters'),
  client_secret: matching(/^[\x21-\x7e]{1,4096}$/, CLIENT_SECRET).optional(),
  scopes: list(
    matching(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'a scope such as email'),
    1,
    32,
    'scopes, openid among them',
  ).prefault(['openid', 'email', 'profile']),
  operator_claim: named(
    matching(/^[\x21-\x7e]{1,128}$/, CLAIM),
    matching(/^[^\p{Cc}]{1,256}$/u, 'the value that operators have there: 1 to 256 characters'),
    CLAIM,
  ).optional(),
});

export const signIn = section({ password: flag.prefault(true), oidc: oidc.optional() });

type SignInEntry = z.output<typeof signIn>;

export function checkSignIn(entry: SignInEntry | undefined): RuleProblem[] {
  if (entry === undefined) return [];
  if (entry.oidc === undefined) {
    if (entry.password) return [];
    return [{ path: ['sign_in', 'password'], message: 'must be true without sign_in.oidc, or nobody could sign in' }];
  }
  const path = ['sign_in', 'oidc'];
  const problems: RuleProblem[] = [];
  const { client_secret: secret, scopes, operator_claim: claim } = entry.oidc;
  if (secret === undefined) {
    problems.push({ path: [...path, 'client_secret'], message: `is required: ${CLIENT_SECRET}` });
  }
  if (!scopes.includes('openid')) problems.push({ path: [...path, 'scopes'], message: 'must have openid' });
  if (claim !== undefined && Object.keys(claim).length !== 1) {
    problems.push({ path: [...path, 'operator_claim'], message: 'must be one claim and its value' });
  }
  return problems;
}

export function signInOf(entry: SignInEntry | undefined): SignInConfig {
  if (entry?.oidc?.client_secret === undefined) return { password: entry?.password ?? true };
  const { issuer, name, client_id: clientId, client_secret: clientSecret, scopes, operator_claim: claim } = entry.oidc;
  const [operator] = Object.entries(claim ?? {});
  const operatorClaim = operator === undefined ? {} : { operatorClaim: { name: operator[0], value: operator[1] } };
  return {
    password: entry.password,
    oidc: { issuer, ...present({ name }), clientId, clientSecret, scopes, ...operatorClaim },
  };
}

/** The text as given: an issuer is compared character by character. */
function parseIssuer(text: string): string | undefined {
  const url = /^https?:\/\/[\x21-\x7e]{1,2000}$/.test(text) && !/[?#]/.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || isLoopback(url.hostname) ? text : undefined;
}
