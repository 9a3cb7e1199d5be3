import type { ContentBlock, Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages';
import { translatedBy } from '../dialect-checks.fixture.ts';
import { type Cut, WORDS } from '../responses/scripted-stream.fixture.ts';
import { ANTHROPIC } from './anthropic.ts';

/** Tokens that the beginning of a stream says were produced: a guess that its end corrects. */
const GUESSED_OUTPUT = 1;

/**
 * The events in which Anthropic sends a message, with the usage in two parts. The types are the
 * official ones.
 */
export function scripted(message: Message, cut: Cut = WORDS): RawMessageStreamEvent[] {
  const { usage } = message;
  const begun: Message = {
    ...{ ...message, content: [], stop_reason: null, stop_sequence: null, stop_details: null },
    usage: { ...usage, output_tokens: GUESSED_OUTPUT, output_tokens_details: null },
  };
  const { input_tokens, output_tokens, output_tokens_details, server_tool_use } = usage;
  const { cache_creation_input_tokens, cache_read_input_tokens } = usage;
  return [
    { type: 'message_start', message: begun },
    ...message.content.flatMap((block, index) => blockEvents(block, index, cut)),
    {
      type: 'message_delta',
      delta: {
        ...{ stop_reason: message.stop_reason, stop_sequence: message.stop_sequence },
        ...{ stop_details: message.stop_details, container: null },
      },
      usage: {
        ...{ input_tokens, output_tokens, output_tokens_details, server_tool_use },
        ...{ cache_creation_input_tokens, cache_read_input_tokens },
      },
    },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: ContentBlock, index: number, cut: Cut): RawMessageStreamEvent[] {
  const deltas = deltasOf(block, cut).map((delta) => ({ type: 'content_block_delta', index, delta }) as const);
  return [
    { type: 'content_block_start', index, content_block: begun(block) },
    ...deltas,
    { type: 'content_block_stop', index },
  ];
}

function begun(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case 'text':
      return { ...block, text: '', citations: null };
    case 'thinking':
      return { ...block, thinking: '', signature: '' };
    case 'tool_use':
    case 'server_tool_use':
      return { ...block, input: {} };
    default:
      return block;
  }
}

type Delta = (RawMessageStreamEvent & { type: 'content_block_delta' })['delta'];

function deltasOf(block: ContentBlock, cut: Cut): Delta[] {
  switch (block.type) {
    case 'text': {
      const citations = (block.citations ?? []).map((citation): Delta => ({ type: 'citations_delta', citation }));
      return [...citations, ...cut(block.text).map((text): Delta => ({ type: 'text_delta', text }))];
    }
    case 'thinking': {
      const { signature } = block;
      const deltas = cut(block.thinking).map((thinking): Delta => ({ type: 'thinking_delta', thinking }));
      return signature === '' ? deltas : [...deltas, { type: 'signature_delta', signature }];
    }
    case 'tool_use':
    case 'server_tool_use': {
      const input = JSON.stringify(block.input);
      const pieces = input === '{}' ? [] : cut(input);
      return ['', ...pieces].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    }
    default:
      return [];
  }
}

/** Data of the chat events for these events. `named`: with the event's type as its SSE name. */
export const translated = (events: readonly object[], named?: boolean) => translatedBy(ANTHROPIC, events, named);
