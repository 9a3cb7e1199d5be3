import { decoded } from './network-names.ts';

/** One host: `pg` supports no lists of hosts. An unescaped / ? or # ends the password too early. */
const POSTGRES_URL =
  /^postgres(?:ql)?:\/\/(?=\S{1,2000}$)(?:[^/?#]*@)?[^,/?#@]*(?:\?[^#@]*|\/[^?#@]*(?:\?(?![^=&]*@)[^#]*)?)?$/;
export const POSTGRES_URL_ACCEPTED =
  'a URL of one host such as postgres://user:password@host:5432/database; write / ? # % of the password as %2F %3F %23 %25';

/** `pg` throws for other URLs. It accepts a user without a host (`postgres://user@/database`). */
export function isPostgresUrl(text: string): boolean {
  return POSTGRES_URL.test(text) && URL.canParse(text.replace('@/', '@host/')) && isDecodable(text);
}

/** False if escapes before the query are not UTF-8. A % that begins none is itself for `pg`. */
function isDecodable(text: string): boolean {
  return decoded(text.replace(/\?.*/, '').replace(/%(?![\da-f]{2})/gi, '%25')) !== undefined;
}
