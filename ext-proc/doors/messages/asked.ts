import { isObject, type JsonObject } from '#core/json-object.ts';

/** What the response depends on. It can be sent to a thread. */
export interface AskedThinking {
  /** `omitted`: blocks of thinking have a signature and no text. */
  readonly thinking: 'none' | 'omitted' | 'shown';
}

export function askedOf(thinking: unknown): AskedThinking {
  if (!isObject(thinking) || thinking.type === 'disabled') return { thinking: 'none' };
  return { thinking: thinking.display === 'omitted' ? 'omitted' : 'shown' };
}

/** Reads what a thread has sent back. */
export function readAsked({ thinking }: JsonObject): AskedThinking {
  return { thinking: thinking === 'shown' || thinking === 'omitted' ? thinking : 'none' };
}
