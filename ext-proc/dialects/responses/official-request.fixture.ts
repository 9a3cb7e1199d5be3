import type * as official from 'openai/resources/responses/responses';
import { z } from 'zod';

/**
 * Structure of a request to Responses, checked against the official types when it is compiled, and
 * against what is sent when it is run. Objects are strict: OpenAI refuses members that it does not
 * know.
 */

const breakpoint = { prompt_cache_breakpoint: z.strictObject({ mode: z.literal('explicit') }).exactOptional() };

const inputContent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_text'), text: z.string(), ...breakpoint }),
  z.strictObject({
    ...{ type: z.literal('input_image'), image_url: z.string(), ...breakpoint },
    detail: z.enum(['low', 'high', 'auto', 'original']),
  }),
  z.strictObject({ type: z.literal('input_file'), file_data: z.string(), filename: z.string(), ...breakpoint }),
]) satisfies z.ZodType<official.ResponseInputContent>;

const contents = z.union([z.string(), z.array(inputContent)]);
const callId = z.string().min(1).max(64);
const phase = { phase: z.enum(['commentary', 'final_answer']).exactOptional() };

const easyMessage = z.strictObject({
  type: z.literal('message'),
  role: z.enum(['user', 'system', 'developer']),
  content: contents,
}) satisfies z.ZodType<official.EasyInputMessage>;

const easyAnswer = z.strictObject({
  ...{ type: z.literal('message'), role: z.literal('assistant'), content: z.string(), ...phase },
}) satisfies z.ZodType<official.EasyInputMessage>;

/** OpenAI takes such a message without the id and status that its type demands. */
const answer = z.strictObject({
  ...{ type: z.literal('message'), role: z.literal('assistant'), ...phase },
  content: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('output_text'), text: z.string(), annotations: z.array(z.never()) }),
        z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
      ]),
    )
    .min(1),
}) satisfies z.ZodType<Omit<official.ResponseOutputMessage, 'id' | 'status'>>;

const reasoning = z.strictObject({
  ...{ type: z.literal('reasoning'), id: z.string(), encrypted_content: z.string().exactOptional() },
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })).exactOptional(),
}) satisfies z.ZodType<official.ResponseReasoningItem>;

const items = z.union([
  easyMessage,
  easyAnswer,
  answer,
  reasoning,
  z.strictObject({
    ...{ type: z.literal('function_call'), call_id: callId, name: z.string(), arguments: z.string() },
  }) satisfies z.ZodType<official.ResponseFunctionToolCall>,
  z.strictObject({
    ...{ type: z.literal('custom_tool_call'), call_id: callId, name: z.string(), input: z.string() },
  }) satisfies z.ZodType<official.ResponseCustomToolCall>,
  z.strictObject({
    ...{ type: z.literal('function_call_output'), call_id: callId, output: contents },
  }) satisfies z.ZodType<official.ResponseInputItem.FunctionCallOutput>,
  z.strictObject({
    ...{ type: z.literal('custom_tool_call_output'), call_id: callId, output: contents },
  }) satisfies z.ZodType<official.ResponseCustomToolCallOutput>,
]);

const schema = z.record(z.string(), z.unknown());

const tool = z.discriminatedUnion('type', [
  z.strictObject({
    ...{ type: z.literal('function'), name: z.string(), description: z.string().exactOptional() },
    ...{ parameters: schema, strict: z.boolean() },
  }) satisfies z.ZodType<official.FunctionTool>,
  z.strictObject({
    ...{ type: z.literal('custom'), name: z.string(), description: z.string().exactOptional() },
    format: z
      .discriminatedUnion('type', [
        z.strictObject({ type: z.literal('text') }),
        z.strictObject({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() }),
      ])
      .exactOptional(),
  }),
]) satisfies z.ZodType<official.Tool>;

const named = z.strictObject({ type: z.enum(['function', 'custom']), name: z.string() });

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), name: z.string() }) satisfies z.ZodType<official.ToolChoiceFunction>,
  z.strictObject({ type: z.literal('custom'), name: z.string() }) satisfies z.ZodType<official.ToolChoiceCustom>,
  z.strictObject({
    ...{ type: z.literal('allowed_tools'), mode: z.enum(['auto', 'required']), tools: z.array(named) },
  }) satisfies z.ZodType<official.ToolChoiceAllowed>,
]);

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    ...{ type: z.literal('json_schema'), name: z.string(), schema, strict: z.boolean() },
    description: z.string().exactOptional(),
  }),
]);

const SETTINGS = {
  model: z.string(),
  store: z.literal(false),
  max_output_tokens: z.int().min(16),
  stream: z.literal(true).exactOptional(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean() }).exactOptional(),
  include: z.array(z.enum(['reasoning.encrypted_content', 'message.output_text.logprobs'])).exactOptional(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).exactOptional(),
      summary: z.literal('auto').exactOptional(),
    })
    .exactOptional(),
  text: z
    .strictObject({ format: format.exactOptional(), verbosity: z.enum(['low', 'medium', 'high']).exactOptional() })
    .exactOptional(),
  tools: z.array(tool).min(1).exactOptional(),
  tool_choice: toolChoice.exactOptional(),
  parallel_tool_calls: z.boolean().exactOptional(),
  service_tier: z.enum(['default', 'flex', 'priority']).exactOptional(),
  temperature: z.number().exactOptional(),
  top_p: z.number().exactOptional(),
  top_logprobs: z.int().exactOptional(),
  user: z.string().exactOptional(),
  safety_identifier: z.string().exactOptional(),
  prompt_cache_key: z.string().exactOptional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).exactOptional(),
  prompt_cache_options: z
    .strictObject({ mode: z.enum(['implicit', 'explicit']).exactOptional(), ttl: z.literal('30m').exactOptional() })
    .exactOptional(),
};

z.strictObject(SETTINGS) satisfies z.ZodType<official.ResponseCreateParams>;

export const OFFICIAL_REQUEST = z.strictObject({ ...SETTINGS, input: z.array(items) });
