import type { ExtraFieldType } from './gateway-config.ts';
import type { RuleProblem } from './problem.ts';
import { isOwnField } from './request-shaping.ts';
import { list, named, oneOf, readText } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Fields of the official chat completions request. */
export const OFFICIAL_FIELDS: ReadonlySet<string> = new Set(
  `model messages max_tokens max_completion_tokens n stream stream_options response_format reasoning_effort tools tool_choice
  parallel_tool_calls temperature top_p stop seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs user
  safety_identifier prompt_cache_key verbosity store metadata service_tier prompt_cache_options prompt_cache_retention modalities
  prediction audio web_search_options moderation functions function_call`.split(/\s+/),
);

const EXTRA_TYPES = [
  'integer',
  'number',
  'boolean',
  'string',
  'object',
  'array',
] as const satisfies readonly ExtraFieldType[];

const MAX_FIELDS = 64;
const FIELD_NAME =
  'the name of a request field such as top_k: 1 to 64 of a-z, A-Z, 0-9, "_" and "-", and no official one';
const fieldName = readText(FIELD_NAME, (name) =>
  /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name) && !OFFICIAL_FIELDS.has(name) && !isOwnField(name) ? name : undefined,
);

export const extraRequestFields = named(fieldName, oneOf(EXTRA_TYPES), FIELD_NAME);
export const extraFields = list(fieldName, 0, MAX_FIELDS, 'names of extra_request_fields');

interface ExtraFieldsOfProvider {
  readonly extra_fields: readonly string[];
  readonly output_limit_field: string;
}

/** `declared`: the names of `extra_request_fields`, or nothing if that part is invalid. */
export function checkExtraFields(
  path: Path,
  { extra_fields, output_limit_field }: ExtraFieldsOfProvider,
  declared: ReadonlySet<string> | undefined,
): RuleProblem[] {
  return extra_fields.flatMap((name, index) => {
    const place = [...path, 'extra_fields', index];
    if (name === output_limit_field) return [{ path: place, message: 'is the output_limit_field of this provider' }];
    if (declared?.has(name) !== false) return [];
    return [{ path: place, message: 'is not a name in extra_request_fields' }];
  });
}
