import type * as official from '@anthropic-ai/sdk/resources/messages/messages';
import { z } from 'zod';

/**
 * Structure of a request to Messages, checked against the official types when it is compiled, and
 * against what is sent when it is run. Objects are strict: Anthropic refuses members that it does
 * not know.
 */

const cached = {
  cache_control: z
    .strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).exactOptional() })
    .exactOptional(),
};

const words = z.string().regex(/\S/);

const text = z.strictObject({
  type: z.literal('text'),
  text: words,
  ...cached,
}) satisfies z.ZodType<official.TextBlockParam>;

const image = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({
    ...{ type: z.literal('base64'), data: z.base64() },
    media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
  }),
  ...cached,
}) satisfies z.ZodType<official.ImageBlockParam>;

const document = z.strictObject({
  type: z.literal('document'),
  source: z.strictObject({
    ...{ type: z.literal('base64'), data: z.base64(), media_type: z.literal('application/pdf') },
  }),
  title: z.string().min(1).exactOptional(),
  ...cached,
}) satisfies z.ZodType<official.DocumentBlockParam>;

const callId = z.string().regex(/^[a-zA-Z0-9_-]+$/);

const toolResult = z.strictObject({
  ...{ type: z.literal('tool_result'), tool_use_id: callId, ...cached },
  content: z.union([words, z.array(z.union([text, image, document])).min(1)]).exactOptional(),
}) satisfies z.ZodType<official.ToolResultBlockParam>;

const toolUse = z.strictObject({
  ...{ type: z.literal('tool_use'), id: callId, name: z.string(), input: z.record(z.string(), z.unknown()) },
  ...cached,
}) satisfies z.ZodType<official.ToolUseBlockParam>;

const thinking = z.strictObject({
  ...{ type: z.literal('thinking'), thinking: z.string(), signature: z.string() },
}) satisfies z.ZodType<official.ThinkingBlockParam>;

const redacted = z.strictObject({
  ...{ type: z.literal('redacted_thinking'), data: z.string() },
}) satisfies z.ZodType<official.RedactedThinkingBlockParam>;

const userTurn = z.strictObject({
  role: z.literal('user'),
  content: z.array(z.discriminatedUnion('type', [text, image, document, toolResult])).min(1),
}) satisfies z.ZodType<official.MessageParam>;

const assistantTurn = z.strictObject({
  role: z.literal('assistant'),
  content: z.array(z.discriminatedUnion('type', [text, toolUse, thinking, redacted])).min(1),
}) satisfies z.ZodType<official.MessageParam>;

const schema = z.record(z.string(), z.unknown());

const tool = z.strictObject({
  ...{ name: z.string(), description: z.string().min(1).exactOptional(), strict: z.literal(true).exactOptional() },
  input_schema: z.looseObject({ type: z.literal('object') }),
  ...cached,
}) satisfies z.ZodType<official.Tool>;

const parallel = { disable_parallel_tool_use: z.literal(true).exactOptional() };

const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...parallel }),
  z.strictObject({ type: z.literal('any'), ...parallel }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallel }),
  z.strictObject({ type: z.literal('none') }),
]) satisfies z.ZodType<official.ToolChoice>;

const thinkingConfig = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('adaptive'), display: z.literal('summarized') }),
  z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024) }),
  z.strictObject({ type: z.literal('disabled') }),
]) satisfies z.ZodType<official.ThinkingConfigParam>;

const SETTINGS = {
  model: z.string(),
  max_tokens: z.int().min(1),
  system: z.array(text).min(1).exactOptional(),
  messages: z.array(z.discriminatedUnion('role', [userTurn, assistantTurn])),
  stream: z.literal(true).exactOptional(),
  tools: z.array(tool).min(1).exactOptional(),
  tool_choice: toolChoice.exactOptional(),
  thinking: thinkingConfig.exactOptional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).exactOptional(),
      format: z.strictObject({ type: z.literal('json_schema'), schema }).exactOptional(),
    })
    .exactOptional(),
  stop_sequences: z.array(words).min(1).exactOptional(),
  metadata: z.strictObject({ user_id: z.string() }).exactOptional(),
  service_tier: z.enum(['auto', 'standard_only']).exactOptional(),
  speed: z.literal('fast').exactOptional(),
};

z.strictObject(SETTINGS) satisfies z.ZodType<Omit<official.MessageCreateParams, 'stream'>>;

/** Members that the API has, and that the types of newer packages leave out. */
const SAMPLING = {
  temperature: z.number().min(0).max(1).exactOptional(),
  top_p: z.number().exactOptional(),
};

export const OFFICIAL_REQUEST = z
  .strictObject({ ...SETTINGS, ...SAMPLING })
  .refine(({ tools, tool_choice }) => tool_choice === undefined || tools !== undefined, 'choice without tools')
  .refine(({ messages }) => messages.every(({ role }, at) => (role === 'user') === (at % 2 === 0)), 'turns')
  .refine(({ messages }) => messages.every(({ content }) => !content.at(-1)?.type.includes('thinking')), 'last block')
  .refine(({ messages }) => isEachOnce(idsIn(messages)), 'ids of calls')
  .refine(({ messages }) => messages.every(({ content }) => areResultsFirst(content)), 'place of results')
  .refine(
    ({ thinking, max_tokens }) => !(thinking && 'budget_tokens' in thinking && thinking.budget_tokens >= max_tokens),
  )
  .refine((body) => !isThinking(body.thinking) || (body.temperature === undefined && body.top_p === undefined));

function isThinking(config: z.infer<typeof thinkingConfig> | undefined): boolean {
  return config !== undefined && config.type !== 'disabled';
}

function idsIn(messages: readonly { readonly content: readonly object[] }[]): unknown[] {
  return messages.flatMap(({ content }) => content.flatMap((block) => ('id' in block ? [block.id] : [])));
}

function isEachOnce(ids: readonly unknown[]): boolean {
  return new Set(ids).size === ids.length;
}

function areResultsFirst(blocks: readonly { readonly type: string }[]): boolean {
  const last = blocks.findLastIndex(({ type }) => type === 'tool_result');
  return blocks.slice(0, last + 1).every(({ type }) => type === 'tool_result');
}
