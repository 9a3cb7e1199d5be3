import { knownMembers } from '../known-members.ts';

const MARKERS = 'cache_control prompt_cache_breakpoint';
const MESSAGE = `id status role content phase ${MARKERS}`;

/** Members of a body of Responses that its door checks. */
export const RESPONSES_MEMBERS = knownMembers({
  message: MESSAGE,
  '.input': MESSAGE,
  reasoning: 'id status summary encrypted_content content',
  function_call: 'id status call_id name namespace arguments',
  custom_tool_call: 'id status call_id name namespace input',
  function_call_output: `id status call_id output ${MARKERS}`,
  custom_tool_call_output: `id status call_id output ${MARKERS}`,
  additional_tools: 'id role tools',
  input_text: `text ${MARKERS}`,
  output_text: `text ${MARKERS}`,
  summary_text: 'text',
  refusal: 'refusal',
  input_image: `image_url detail ${MARKERS}`,
  input_file: `file_data filename ${MARKERS}`,
  function: `name description parameters strict ${MARKERS}`,
  custom: `name description format ${MARKERS}`,
  namespace: 'name description tools',
  grammar: 'syntax definition',
  allowed_tools: 'mode tools',
  // A part, and formats.
  text: `text ${MARKERS}`,
  json_object: '',
  json_schema: 'name description schema strict',
  ephemeral: 'ttl',
  '.cache_control': 'ttl',
  '.prompt_cache_breakpoint': 'mode',
  '.prompt_cache_options': 'mode ttl',
  '.stream_options': 'include_usage include_obfuscation',
  '.text': 'format verbosity',
  '.reasoning': 'effort summary generate_summary context',
});
