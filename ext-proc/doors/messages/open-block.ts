import type { JsonObject } from '#core/json-object.ts';
import { parseObject } from '#core/json-object.ts';
import type { ChatCall } from '../responses/output-items.ts';

/** A piece of a chat stream. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thought'; readonly text: string; readonly details: readonly JsonObject[] }
  | { readonly kind: 'call'; readonly call: unknown; readonly begun?: ChatCall; readonly input: string };

/** The block that is being written. */
export type OpenBlock = TextBlock | ThinkingBlock | CallBlock;

interface TextBlock {
  readonly kind: 'text';
}

export interface ThinkingBlock {
  readonly kind: 'thought';
  text: string;
  readonly details: JsonObject[];
  detailCharacters: number;
}

export interface CallBlock {
  readonly kind: 'call';
  /** The index of the call in the chat stream. */
  readonly call: unknown;
  input: string;
  /** How often it was found incomplete. */
  checks: number;
}

/**
 * True if nothing more can follow. An input that is empty so far may be that of a call to which
 * the provider comes back.
 */
export function isComplete(block: CallBlock): boolean {
  return block.input.trimEnd().endsWith('}') && parseObject(block.input) !== undefined;
}
