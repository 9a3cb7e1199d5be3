import type { JsonObject } from '#core/json-object.ts';
import { thinkingBlock } from '../../dialects/anthropic/thinking-details.ts';
import { carry } from '../responses/carried-reasoning.ts';
import type { AskedThinking } from './asked.ts';

/** Reasoning as far as it has come. */
export interface Thought {
  readonly text: string;
  readonly details: readonly JsonObject[];
}

/**
 * Reasoning as blocks. That of a target with the same API is as it was; any other has all that must
 * come back as its signature.
 */
export function thinkingBlocks({ text, details }: Thought, { thinking }: AskedThinking): JsonObject[] {
  if (thinking === 'none') return [];
  const known = details.map(thinkingBlock);
  const own = known.filter((block) => block !== undefined);
  if (own.length > 0 && own.length === known.length) return own;
  const signature = signatureOf({ text, details });
  if (signature === undefined) return [];
  return [{ type: 'thinking', thinking: thinking === 'omitted' ? '' : text, signature }];
}

export function signatureOf({ text, details }: Thought): string | undefined {
  return carry({ details, content: text });
}
