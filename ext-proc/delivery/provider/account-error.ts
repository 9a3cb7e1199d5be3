import type { AccountErrorKind } from '../../hold/attempt.ts';
import type { ProviderWords } from './provider-words.ts';

/** Error names of providers. A name takes precedence over the text. */
const FUNDS_NAME =
  /quota|billing|balance|(?:^|_)credits?(?:_|$)|funds|payment|arrear|overdue|(?:^|_)spend|usage_limit|budget_exceeded/;
const CREDENTIALS_NAME =
  /api_?key|subscription_key|unauth|authentic|authoriz|credential|permission|access_?denied|^forbidden|organi[sz]ation|(?:^|_)project(?:_|$)|account|consumer_|service_disabled|security_?token|expired_token|unrecognized_client|invalid_signature_exception|incomplete_signature|signature_does_not_match|request_expired|territory/;
const RATE_NAME = /rate_?limit|throttl|too_?many|per_?(?:minute|second)|^tokens$|^requests$|concurren/;
/** Error names that are about the request itself. */
const REQUEST_NAME =
  /^(?:invalid_(?:value|type|image|prompt|function|schema|json|file|tool|url|base64|chat|message)|unsupported_parameter|unknown_parameter|missing|(?:string|array|integer|decimal|object|number|list|dict)_|content_(?:filter|policy)|responsible_ai|context_(?:length|window)|extra_forbidden|value_error|json_|greater_than|less_than|literal_error|enum)|_(?:type|parsing)$/;

const FUNDS_WORDS = anyOf(
  /\b(?:insufficient|exceeded|current|monthly|your|out of|available|enough|remaining|no) (?:[\w-]+ ){0,3}(?:quota|balance|funds|credits)\b/,
  /\bquota (?:exceeded|exhausted|has been|limit|is)\b|\bquota for\b/,
  /\b(?:credit|account) balance\b|\bbalance (?:is|was|has been) (?:insufficient|too low|not enough|exhausted)\b/,
  /\b(?:your|plans? (?:and|&)|update|enable|activate|account) billing\b|\bbilling (?:is|details|account|hard|not|information|settings|to be|has)\b/,
  /\b(?:purchase|add|buy|requires?) (?:more )?credits?\b|\bcredits (?:are |have been )?(?:exhausted|depleted|used up)\b|\bcredit limit\b|\bcan only afford\b/,
  /\bspend(?:ing)? (?:limit|cap)\b|\bexceeded (?:its|your|the) budget\b|\bbudget (?:exceeded|has been)\b|\b(?:api|specified|your|monthly) usage limits?\b|\bhard limit\b/,
  /\bpayment (?:required|method|details|is)\b|\bin arrears\b|\barrearage\b|\boverdue\b|\brecharge\b|余额不足|欠费/,
);
const CREDENTIALS_WORDS = anyOf(
  // Not the name of a tool, as in `rotate_api_key`.
  /(?<![\w.-])(?:x-)?api[ -]?keys?(?![\w-])|\bapi (?:token|access)\b|^invalid token\b\.?$|\b(?:invalid|incorrect|missing|expired) api_key\b|\b(?:subscription|access) key\b/,
  /\b(?:invalid|expired|revoked|missing|incorrect) (?:\w+ ){0,2}(?:bearer|auth|authorization|authentication|access|security) ?(?:token|header)?\b/,
  /\bunauthenticated\b|\bunauthori[sz]ed\b|\bnot authenticated\b|\bauthentication (?:failed|error|required|credentials?)\b|\bfailed to authenticate\b/,
  /\b(?:invalid|missing|expired|no|wrong|incorrect|valid|validate|verify|your|provided?) (?:[\w-]+ ){0,3}credentials?\b|\bcredentials? (?:\w+ ){0,3}(?:invalid|expired|missing|not|were)\b/,
  /\b(?:your|this|member of an?|no such|invalid|unknown|openai) ?organi[sz]ation\b|openai-organization|\borgani[sz]ation (?:\S+ )?(?:has|is|was|must|does|not|header|been)\b/,
  /(?<![\w.[-])project\b.{0,80}?(?:not have access|have no access|has no access|denied access|not been used|has been (?:suspended|disabled|denied|deleted|archived)|not found|is not (?:active|allowed|authori[sz]ed))/,
  /\b(?:your|this|no such|invalid|unknown) (?:project|team|workspace)\b/,
  /\bpermission[- ]denied\b|(?:\b(?:not|lacks?|without|no|insufficient|missing)|n't) (?:[\w-]+ ){0,3}permissions?\b|\bnot authori[sz]ed to\b|\baccess (?:is |was )?denied\b|(?:\bnot|n't) have access\b/,
  /\baccount (?:\S+ )?(?:is|has been|was) (?:not active|inactive|suspended|deactivated|disabled|blocked|restricted|terminated|locked|banned)\b|\b(?:your|this) account\b/,
  /\b(?:country|region|territory|location)\b[^.]{0,40}\bnot supported\b|\bsecurity token\b|\bservice account\b/,
  // AWS about the request's SigV4 signature. Signatures of thinking and S3 links are the client's.
  /\bsignature (?:expired|not yet current)\b|\brequest has expired\. timestamp\b|\bauthorization header requires\b/,
);
/**
 * Names of errors that are about the client's content, although they look like account errors: xAI
 * calls them a missing permission and names the key, OpenRouter mentions credits.
 */
const CONTENT_NAME = /content_(?:filter|policy|moderation)|responsible_ai|moderation|safety_check|flagged/;
const CONTENT_WORDS = anyOf(
  /\b(?:input|prompt|request|content|messages?|text|images?)\b(?: \w+){0,2} (?:flagged|violates?|filtered|moderated)\b/,
  /\brejected (?:\w+ ){0,6}safety\b|\bsafety_check|\bcontent management policy\b|\brequires moderation\b/,
);
/** Decides even if the provider names a field: some models stream only for verified accounts. */
const VERIFICATION_WORDS = /\b(?:organi[sz]ation|account) must be verified\b/;
const RATE_WORDS =
  /\brate[ _-]?limit|\bper[ -](?:minute|second|hour|min)\b|\b(?:tpm|rpm)\b|too many requests|\bslow down\b|overloaded|throttl|concurren/;

/** Places in a request: an error that names one is about the request. */
const REQUEST_PLACE = /\b(?:messages|tools|functions|contents|tool_calls|input|content)(?:\[\d+\]|\.\d+)/;
const ACCOUNT_FIELD = /^(?:api[_-]?key|organi[sz]ation|project|authorization)/i;

/**
 * Classifies an error. `undefined`: it is about the request or a rate limit. `status`: 400, 401,
 * 402, 403, 422 or 429; others are not classified.
 */
export function accountErrorOf(status: number, said: ProviderWords): AccountErrorKind | undefined {
  switch (status) {
    case 400:
    case 422:
      return judged(said);
    case 401:
      return byName(said.names) === 'funds' ? 'funds' : 'credentials';
    case 403:
      if (isContentRefusal(said)) return undefined;
      // A name such as permission-denied adds nothing to the status.
      return byName(said.names) === 'funds' || FUNDS_WORDS.test(ownWords(said.text)) ? 'funds' : 'credentials';
    case 402:
      return 'funds';
    case 429:
      return said.names.some((name) => RATE_NAME.test(name)) ? undefined : judged(said, RATE_WORDS);
    default:
      return undefined;
  }
}

/** Classifies an error without a status, in a response or a stream. */
export function judged(said: ProviderWords, unless?: RegExp): AccountErrorKind | undefined {
  const named = byName(said.names);
  if (named !== undefined) return named === 'request' ? undefined : named;
  const words = ownWords(said.text);
  if (unless?.test(words)) return undefined;
  if (REQUEST_PLACE.test(said.text) || (said.param !== undefined && !ACCOUNT_FIELD.test(said.param)))
    return VERIFICATION_WORDS.test(words) ? 'credentials' : undefined;
  if (FUNDS_WORDS.test(words)) return 'funds';
  return CREDENTIALS_WORDS.test(words) ? 'credentials' : undefined;
}

function byName(names: readonly string[]): AccountErrorKind | 'request' | undefined {
  if (names.some((name) => FUNDS_NAME.test(name))) return 'funds';
  if (names.some((name) => CREDENTIALS_NAME.test(name))) return 'credentials';
  return names.some((name) => REQUEST_NAME.test(name)) ? 'request' : undefined;
}

/** True if a 403 says that the prompt violates rules. Most 403s are about credentials. */
export function isContentRefusal({ text, names }: ProviderWords): boolean {
  return names.some((name) => CONTENT_NAME.test(name)) || CONTENT_WORDS.test(ownWords(text));
}

const CONTEXT_NAME = /context_(?:length|window|size)|prompt_too_long|input_too_long/;
const CONTEXT_WORDS = anyOf(
  /\bprompt (?:is )?too long\b|\binput (?:is )?too long\b|\binput length\b.{0,60}\bexceed|\bprompt contains \d+ tokens\b/,
  /\b(?:maximum|max|available) (?:context|prompt) (?:length|size|window)\b|\bexceeds? (?:the |this model's |available )*(?:maximum )?context\b/,
  /\bcontext (?:length|window|limit|size)\b.{0,40}\bexceed|\bexceed\w*\b.{0,60}\bcontext (?:length|window|limit|size)\b/,
  /\binput token count\b.{0,40}\bexceeds\b|\bmaximum number of (?:input )?tokens allowed\b|\btoo many (?:input |prompt )?tokens\b/,
  /\breduce the length of the (?:messages|prompt|input)\b/,
);

/** True for a 400 or 422 because prompt and output exceed the provider's context window. */
export function isContextError({ text, names }: ProviderWords): boolean {
  if (names.some((name) => CONTEXT_NAME.test(name))) return true;
  if (names.some((name) => REQUEST_NAME.test(name) && name !== 'invalid_prompt')) return false;
  return CONTEXT_WORDS.test(ownWords(text));
}

const LIMIT = /(?<limit>\d{1,9})\b/.source;
const NEEDED = /(?<needed>\d{1,9})\b/.source;
/** Sentences with the tokens that a request needs and the limit, in either order. */
const CONTEXT_COUNTS = [
  new RegExp(`\\bmax(?:imum)? (?:context|prompt) (?:length|size|window)\\D{1,12}${LIMIT}\\D{1,80}${NEEDED}`),
  new RegExp(`\\b${NEEDED}(?: \\+ (?<output>\\d{1,9}))?\\D{1,20}?(?:>|exceeds|large for)\\D{1,50}${LIMIT}`),
];

/** Tokens that the request needs, and the limit, if the provider names both. */
export function contextCountsIn({ text }: ProviderWords): { needed: number; limit: number } | undefined {
  // Some providers write 128,000.
  const words = ownWords(text).replace(/(?<=\d),(?=\d{3}\b)/g, '');
  for (const sentence of CONTEXT_COUNTS) {
    const found = sentence.exec(words)?.groups;
    if (found === undefined) continue;
    const [needed, limit] = [Number(found.needed) + Number(found.output ?? 0), Number(found.limit)];
    if (needed > limit) return { needed, limit };
  }
  return undefined;
}

/** Removes quotations (parts of the request) and links. At most 10 ms for any text (measured). */
function ownWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/"[^"\n]*"|“[^“”\n]*”|`[^`\n]*`/g, "''")
    .replace(/(?<!\w)['‘][^\n]*?['’](?!\w)/g, "''");
}

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map((pattern) => pattern.source).join('|'));
}
