import { knownMembers } from '../known-members.ts';

const TOOL =
  'name description input_schema strict cache_control defer_loading eager_input_streaming allowed_callers input_examples';
const CITED = 'cited_text document_index document_title file_id';

/** Members of a body of Messages that its door checks. */
export const MESSAGES_MEMBERS = knownMembers({
  '.messages': 'role content output_config',
  // A block, and the source of a document.
  text: 'text citations cache_control media_type data',
  image: 'source cache_control',
  document: 'source title context citations cache_control',
  search_result: 'source title content citations cache_control',
  base64: 'media_type data',
  content: 'content',
  thinking: 'thinking signature',
  redacted_thinking: 'data',
  tool_use: 'id name input cache_control caller',
  direct: '',
  tool_result: 'tool_use_id content is_error cache_control',
  tool_reference: 'tool_name name cache_control',
  tool_addition: 'tool cache_control',
  tool_removal: 'tool cache_control',
  tool_definition: 'definition',
  '.definition': TOOL,
  '.tools': TOOL,
  custom: TOOL,
  ephemeral: 'ttl scope',
  '.citations': 'enabled',
  char_location: `${CITED} start_char_index end_char_index`,
  page_location: `${CITED} start_page_number end_page_number`,
  content_block_location: `${CITED} start_block_index end_block_index`,
  search_result_location: 'cited_text source title search_result_index start_block_index end_block_index',
  auto: 'disable_parallel_tool_use',
  any: 'disable_parallel_tool_use',
  none: '',
  tool: 'name disable_parallel_tool_use',
  enabled: 'budget_tokens display',
  disabled: '',
  adaptive: 'display',
  between_tools: 'budget_tokens display',
  '.output_config': 'effort format task_budget',
  tokens: 'total remaining',
  json_schema: 'schema',
  '.context_management': 'edits',
  clear_tool_uses_20250919: 'trigger keep clear_at_least exclude_tools clear_tool_inputs',
  clear_thinking_20251015: 'keep',
  input_tokens: 'value',
  tool_uses: 'value',
  thinking_turns: 'value',
  all: '',
});
