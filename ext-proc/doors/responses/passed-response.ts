import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { editObject, type MemberEdits } from '../../dialects/json-members.ts';
import { hidingWithin } from '../../dialects/shown-members.ts';
import type { ChargedUsage, PassedStream, ResponseNames } from '../door.ts';
import { eachEvent, passedEvent, sentEvent } from '../events.ts';
import { editedWithin, passedEdits } from '../passed-edits.ts';
import { failureEvents, responseHead, responsesUsage } from './response-object.ts';

/** Members of which the provider does not get the client's value. The response has that value. */
const OWN = ['metadata', 'prompt_cache_key', 'safety_identifier', 'user', 'max_output_tokens'] as const;

export function passedResponse(response: JsonObject, names: ResponseNames): MemberEdits {
  const { repeated = {} } = names.asked;
  const edits = passedEdits(response, 'output', names);
  edits.store = 'false';
  for (const name of OWN) if (name in response) edits[name] = JSON.stringify(repeated[name] ?? null);
  return edits;
}

const LAST: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** Clients get failures in the gateway's words. */
const FAILURE: ReadonlySet<string> = new Set(['error', 'response.failed']);

/** Other events are about tools that no model here has, or belong to no API. */
const KNOWN =
  /^(?:error|response\.(?:created|queued|in_progress|completed|incomplete|failed|output_item\.(?:added|done)|content_part\.(?:added|done)|(?:output_text|refusal|reasoning_text|reasoning_summary_text|reasoning_summary|function_call_arguments|custom_tool_call_input)\.(?:delta|done)|reasoning_summary_part\.(?:added|done)|output_text\.annotation\.added))$/;

/** Members of an event that contain parts of the response. */
const PARTS = ['item', 'part', 'delta', 'annotation'] as const;

const NUMBER = '"sequence_number":';

/** Passes on the events of a provider that speaks Responses. Most of them are not changed. */
export class PassedResponseStream implements PassedStream {
  readonly #names: ResponseNames;
  #last: { readonly type: string; readonly data: string } | undefined;
  #sequence = 0;
  /** True if the last event was passed on unchanged. Events that continue it can be, too. */
  #isAsItCame = false;

  constructor(names: ResponseNames) {
    this.#names = names;
  }

  get keptCharacters(): number {
    return this.#last?.data.length ?? 0;
  }

  event(type: string, data: string): string {
    const event = parseObject(data);
    this.#isAsItCame = false;
    const named = typeof event?.type === 'string' ? event.type : type;
    if (event === undefined || !KNOWN.test(named)) return '';
    if (LAST.has(named)) this.#last = { type: named, data };
    if (FAILURE.has(named) || LAST.has(named)) return '';
    if (typeof event.sequence_number === 'number') this.#sequence = event.sequence_number + 1;
    else this.#sequence++;
    if (!isObject(event.response)) {
      const edits = hidingWithin(event, PARTS);
      this.#isAsItCame = edits === undefined && named === type;
      return passedEvent(named, edits ? editObject(data, edits) : data);
    }
    return passedEvent(named, this.#edited(data, event, event.response));
  }

  several(text: string): string {
    if (!this.#isAsItCame) return eachEvent(text, (type, data) => this.event(type, data));
    const at = text.lastIndexOf(NUMBER);
    if (at !== -1) this.#sequence = Number.parseInt(text.slice(at + NUMBER.length), 10) + 1;
    return text;
  }

  ended(charged: ChargedUsage): string {
    const { type, data } = this.#last ?? { type: 'response.completed', data: '{}' };
    const event = parseObject(data) ?? {};
    const usage = responsesUsage(charged);
    // The provider's stream ended without its last event.
    if (!isObject(event.response)) return sentEvent(type, this.#own({ status: 'completed', usage }));
    return passedEvent(type, this.#edited(data, event, event.response, JSON.stringify(usage)));
  }

  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string {
    const usage = charged === undefined ? null : responsesUsage(charged);
    return failureEvents(error, { ...responseHead(this.#names), usage }, this.#sequence);
  }

  #own(members: JsonObject): JsonObject {
    return { sequence_number: this.#sequence, response: { ...responseHead(this.#names), ...members } };
  }

  #edited(data: string, event: JsonObject, response: JsonObject, usage = 'null'): string {
    return editedWithin(data, event, 'response', { ...passedResponse(response, this.#names), usage });
  }
}
